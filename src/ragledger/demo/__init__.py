"""The demo: judged questions about the Python language reference, asked through both adapters."""
