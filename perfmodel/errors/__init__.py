"""Every exception of perfmodel, by what it is about.

:mod:`perfmodel.errors.base` has the kinds. Each text says what was found, what is allowed, and what to do.
"""

from perfmodel.errors.base import *
from perfmodel.errors.counts import *
from perfmodel.errors.devices import *
from perfmodel.errors.files import *
from perfmodel.errors.inputs import *
from perfmodel.errors.models import *
