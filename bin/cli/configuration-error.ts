// An invalid configuration: exit code 3, and the message lists every fault.

export class ConfigurationError extends Error {}
