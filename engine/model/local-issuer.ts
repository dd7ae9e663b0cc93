// Name of the token issuer that the program itself is, as `iss` claims have it.

export const LOCAL_ISSUER = 'longshore-local';
