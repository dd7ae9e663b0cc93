import t from 'tap';
import { ANONYMOUS, type Caller, type Person } from '../../../../http/kernel/auth/caller.ts';
import { type Access, isAllowed } from '../../../../http/kernel/pipeline/route.ts';

const person = (kind: Person['kind']): Caller => ({ kind }) as Person;
const CALLERS = {
  anonymous: ANONYMOUS,
  guest: person('guest'),
  user: person('user'),
  admin: { kind: 'admin' },
} as const;
const ALLOWED: Readonly<Record<Access, readonly (keyof typeof CALLERS)[]>> = {
  open: ['anonymous', 'guest', 'user', 'admin'],
  user: ['user'],
  'user-or-guest': ['guest', 'user'],
  'user-or-admin': ['user', 'admin'],
  'anyone-known': ['guest', 'user', 'admin'],
  admin: ['admin'],
};

for (const [access, allowed] of Object.entries(ALLOWED) as [Access, readonly string[]][])
  t.test(`${access} lets in ${allowed.join(', ')}, and nobody else`, async (t) => {
    const verdicts = Object.entries(CALLERS).map(([name, caller]) => [name, isAllowed(access, caller)]);
    t.strictSame(
      verdicts,
      Object.keys(CALLERS).map((name) => [name, allowed.includes(name)]),
    );
  });
