// What every route for administrators answers to others.

export const ADMIN_REFUSALS = { 401: 'No Admin-Token', 403: 'The Admin-Token is wrong' } as const;
