// Light, dark, or like the system. The choice is kept in the browser.

import { Store } from '../api/store.ts';
import type { texts } from '../texts.ts';

export type Theme = keyof typeof texts.shell.themes;

const KEY = 'longshore.theme';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

export const theme = new Store<Theme>(THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'system');

const show = (): void => {
  document.documentElement.dataset.theme = theme.value;
};
show();
theme.subscribe(show);

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(KEY, chosen);
  theme.set(chosen);
}
