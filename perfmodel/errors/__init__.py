"""Every exception of perfmodel, by what it is about.

Each is a dataclass whose fields are set once, with its text as a template. It can be compared, copied and pickled.
The text says what was found, what is allowed, and what to do.
"""

from perfmodel.errors.base import *
from perfmodel.errors.counts import *
from perfmodel.errors.devices import *
from perfmodel.errors.files import *
from perfmodel.errors.inputs import *
from perfmodel.errors.models import *
