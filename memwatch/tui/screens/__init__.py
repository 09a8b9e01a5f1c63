"""The screens: the dashboard, the job's whole output, questions, help."""
