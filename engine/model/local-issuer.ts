// Name of the program itself as a token issuer, as in `iss` claims.

export const LOCAL_ISSUER = 'longshore-local';
