from . import calibrate, installation, kernel_choice, recommended, scheduled

__all__ = ["calibrate", "installation", "kernel_choice", "recommended", "scheduled"]
