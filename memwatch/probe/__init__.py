"""The probe: reads the operating system into a Sample. Imported by the guard, so everything here stays small."""
