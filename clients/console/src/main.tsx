// The beginning: reads the settings, signs in who can be, shows the console.

import { createRoot } from 'react-dom/client';
import { signInAtStart, signInByLink } from './api/issuer.ts';
import { reachable, watchServer } from './api/reachability.ts';
import { loadSettings } from './api/settings.ts';
import { tellProblem } from './components/toasts.tsx';
import { App } from './shell/app.tsx';
import './shell/theme.ts';
import './styles/all.css';

async function start(root: HTMLElement): Promise<void> {
  const { product, signIn } = await settingsAtLast();
  await signInAtStart(signIn).catch(tellProblem);
  addEventListener('hashchange', () => void signInByLink(signIn).catch(tellProblem));
  watchServer();
  createRoot(root).render(<App product={product} />);
}

/** The server may be starting: the next attempt is made when it answers. */
async function settingsAtLast(): ReturnType<typeof loadSettings> {
  try {
    return await loadSettings();
  } catch (error) {
    if (reachable.value) throw error;
    await new Promise<void>((resolve) => {
      const forget = reachable.subscribe(() => {
        forget();
        resolve();
      });
    });
    return settingsAtLast();
  }
}

const root = document.getElementById('console');
if (root) void start(root);
