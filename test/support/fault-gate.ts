// Stands before every port of a process and lets one call go wrong:
//   crash   the process ends there: the call does not happen, and nothing that the process still attempts gets through
//   fail    the call does not happen, the process goes on
//   mute    the call happens, its answer is lost, the process goes on

import { aborted, transient } from '../../engine/runtime/failure.ts';

export type Fault = 'crash' | 'fail' | 'mute';

export class FaultGate {
  /** Names of the calls so far: `port.method`. */
  readonly calls: string[] = [];
  readonly #fault: Fault;
  readonly #at: number;
  readonly #onCrash: () => void;
  #crashed = false;

  /** @param at number of the call that goes wrong, from 1; 0 = none does */
  constructor(fault: Fault = 'crash', at = 0, onCrash: () => void = () => {}) {
    this.#fault = fault;
    this.#at = at;
    this.#onCrash = onCrash;
  }

  get struck(): boolean {
    return this.#at > 0 && this.calls.length >= this.#at;
  }

  /** The port behind the gate. */
  wrap<Port extends object>(name: string, port: Port): Port {
    return new Proxy(port, {
      get: (target, property) => {
        const member: unknown = Reflect.get(target, property, target);
        if (typeof member !== 'function') return member;
        const call = (...args: unknown[]): unknown => Reflect.apply(member, target, args);
        const what = `${name}.${String(property)}`;
        if (property === 'list') return (...args: unknown[]) => this.#listing(what, call, args);
        return (...args: unknown[]) => this.#pass(what, async () => call(...args));
      },
    });
  }

  async *#listing(what: string, call: (...args: unknown[]) => unknown, args: unknown[]): AsyncGenerator<unknown> {
    yield* await this.#pass(what, async () => call(...args) as AsyncIterable<unknown>);
  }

  async #pass<Result>(what: string, call: () => Promise<Result>): Promise<Result> {
    this.#refuseDead();
    this.calls.push(what);
    const struck = this.calls.length === this.#at;
    if (struck && this.#fault === 'crash') {
      this.#crashed = true;
      this.#onCrash();
      this.#refuseDead();
    }
    if (struck && this.#fault === 'fail') throw transient(`${what} did not happen`);
    const result = await call();
    if (struck) throw transient(`${what} did not answer`);
    this.#refuseDead();
    return result;
  }

  #refuseDead(): void {
    if (this.#crashed) throw aborted('the process is dead');
  }
}
