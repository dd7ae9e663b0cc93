// The configuration cannot be used: exit code 3 and every fault.

export class ConfigurationError extends Error {}
