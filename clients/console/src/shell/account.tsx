// Who is signed in, signing out, and the appearance.

import { useState } from 'react';
import { session, signOut, signOutEverywhere } from '../api/session.ts';
import { settings } from '../api/settings.ts';
import { useStore } from '../api/store.ts';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { personName } from '../components/format.ts';
import { Icon } from '../components/icons.tsx';
import { tellProblem } from '../components/toasts.tsx';
import { texts } from '../texts.ts';
import { chooseTheme, type Theme, theme } from './theme.ts';

const words = texts.shell;
const THEMES = Object.entries(words.themes) as [Theme, string][];

export function Account() {
  const self = useStore(session)?.self;
  const chosen = useStore(theme);
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="account">
      <label>
        <span className="hidden-text">{words.theme}</span>
        <select value={chosen} onChange={({ target }) => chooseTheme(target.value as Theme)}>
          {THEMES.map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {self && (
        <>
          <button type="button" className="self" title={words.account} onClick={() => setOpen(true)}>
            <Icon name="user" />
            <span>
              {personName(self) || words.userOf(self.userId)}
              <small>{words.roleAndId(self.role, self.userId)}</small>
            </span>
          </button>
          <span className="sign-out">
            <Button onPress={() => void signOut().catch(tellProblem)}>{words.signOut}</Button>
          </span>
          {isOpen && <AccountDialog onClose={() => setOpen(false)} />}
        </>
      )}
    </div>
  );
}

function AccountDialog({ onClose }: { readonly onClose: () => void }) {
  const signedIn = useStore(session);
  const ways = useStore(settings)?.signIn;
  const [isBusy, setBusy] = useState(false);
  if (!signedIn) return null;
  const { self, leave } = signedIn;
  const end = (work: () => Promise<void>): void => {
    setBusy(true);
    work()
      .catch(tellProblem)
      .finally(() => setBusy(false));
  };
  return (
    <Dialog title={words.account} onClose={onClose}>
      <p>
        <strong>{personName(self) || words.userOf(self.userId)}</strong>
        <br />
        {words.roleAndId(self.role, self.userId)}
      </p>
      <p className="hint">{leave ? words.leaveAdvice : ways?.everywhere ? words.everywhereAdvice : words.hereAdvice}</p>
      <div className="actions">
        <Button onPress={onClose}>{texts.common.close}</Button>
        {ways?.everywhere && (
          <Button kind="danger" isDisabled={isBusy} onPress={() => end(signOutEverywhere)}>
            {words.everywhere}
          </Button>
        )}
        <Button kind="primary" isDisabled={isBusy} onPress={() => end(signOut)}>
          {words.signOut}
        </Button>
      </div>
    </Dialog>
  );
}
