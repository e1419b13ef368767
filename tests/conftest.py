"""Settings of all tests."""

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:  # the tests on GPUs need no more than pytest
    pass
else:
    # How long an example takes says more about the machine than about the code.
    settings.register_profile("cunumpy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("cunumpy")
