// API versions that a request may name in `Api-Version`, oldest first.

export const API_VERSIONS = ['1.7.0', '1.8.0'] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];
export const DEFAULT_API_VERSION: ApiVersion = '1.8.0';
