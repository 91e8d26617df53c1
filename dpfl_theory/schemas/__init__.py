"""What every document that is read shares: tables of keys, and the sentence for each way in which one can be wrong."""
