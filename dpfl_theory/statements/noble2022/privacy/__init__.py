"""What is said of privacy: mechanisms, composition, sampling, and what each observer learns."""
