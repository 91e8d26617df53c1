"""What is compared: paths, the noise, samples, neighbouring data sets and cohorts; and what follows from it."""
