"""The statements on privacy: mechanisms, composition, sampling, and what each observer learns."""
