// The command line was called in a way it cannot be: exit code 2 and the usage line.

export class UsageError extends Error {}
