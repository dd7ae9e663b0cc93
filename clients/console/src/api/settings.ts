// What the server says before anybody signs in. The page's own files tell where the server is, so the console works under any
// base path.

import { installerClient } from '../../../typescript/src/index.ts';
import type { components } from '../../../typescript/src/installer.ts';
import { probeAt, reachingFetch } from './reachability.ts';
import { Store } from './store.ts';

export type ConsoleSettings = components['schemas']['ConsoleSettings'];
export type ConsoleSelf = components['schemas']['ConsoleSelf'];

/** Without trailing slash. Files are at `/console/files/`. */
export const SERVER = new URL('../..', import.meta.url).href.replace(/\/$/, '');

export const settings = new Store<ConsoleSettings | undefined>(undefined);

/** Of routes that anybody may call. */
export const openClient = installerClient({ url: SERVER, fetch: reachingFetch });

export async function loadSettings(signal?: AbortSignal): Promise<ConsoleSettings> {
  probeAt(`${SERVER}/ready`);
  const { data } = await openClient.GET('/console/settings.json', signal ? { signal } : {});
  settings.set(data as ConsoleSettings);
  return data as ConsoleSettings;
}
