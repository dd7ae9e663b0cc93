// Names for statements that run often, so that each connection plans them once: planning is half the time of a small statement.
// Use it only for a bounded number of texts, because each connection keeps them.

import { hash } from 'node:crypto';

/** The same for the same text; fits into PostgreSQL's 63 characters. */
export const statementName = (text: string): string => `h${hash('sha1', text, 'base64url')}`;
