"""What a record of samples shows: stretches of strain, gaps, who grew."""
