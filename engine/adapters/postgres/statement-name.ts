// Names for statements that are run often, so that each connection plans them once: half the time of a small statement
// is its planning. Only for texts of a bounded number of shapes, since a connection keeps each.

import { hash } from 'node:crypto';

/** The same for the same text; fits PostgreSQL's 63 characters. */
export const statementName = (text: string): string => `h${hash('sha1', text, 'base64url')}`;
