// Leases in memory as far as a fence needs them: the newest token per name, and whether it is held.

import type { Lease } from '../../engine/ports/jobs.ts';

export class FakeLeaseTable {
  readonly #rows = new Map<string, { readonly token: number; readonly held: boolean }>();

  /** Takes the lease, from its holder if it has one. */
  readonly grant = async (name: string): Promise<Lease> => {
    const token = (this.#rows.get(name)?.token ?? 0) + 1;
    this.#rows.set(name, { token, held: true });
    return { name, token };
  };

  readonly release = async ({ name, token }: Lease): Promise<void> => {
    if (this.#rows.get(name)?.token === token) this.#rows.set(name, { token, held: false });
  };

  readonly holds = ({ name, token }: Lease): boolean => {
    const row = this.#rows.get(name);
    return row?.held === true && row.token === token;
  };
}
