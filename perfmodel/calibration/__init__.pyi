from . import calibrate, installation, kernel_choice, lacking, recommended, scheduled

__all__ = ["calibrate", "installation", "kernel_choice", "lacking", "recommended", "scheduled"]
