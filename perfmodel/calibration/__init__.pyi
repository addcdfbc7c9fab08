from . import calibrate, installation, kernel_choice, lacking, recommended, recounting

__all__ = ["calibrate", "installation", "kernel_choice", "lacking", "recommended", "recounting"]
