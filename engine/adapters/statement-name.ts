// Names for statements that are run often, so that each connection plans them once: half the time of a small statement
// is its planning. Only for texts of a bounded number of shapes, since a connection keeps each.

import { createHash } from 'node:crypto';

/** The same for the same text; fits PostgreSQL's 63 characters. */
export const statementName = (text: string): string => `h${createHash('sha1').update(text).digest('base64url')}`;
