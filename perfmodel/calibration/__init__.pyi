from . import calibrate, installation, kernel_choice, lacking, recommended

__all__ = ["calibrate", "installation", "kernel_choice", "lacking", "recommended"]
