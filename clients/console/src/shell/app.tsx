// The frame of all pages: header, navigation, banners, and the page of the address.

import { type ComponentType, lazy, Suspense, useEffect, useRef, useState } from 'react';
import { isOperator, session } from '../api/session.ts';
import { useStore } from '../api/store.ts';
import { Button } from '../components/button.tsx';
import { Logo } from '../components/icons.tsx';
import { Empty, Loading } from '../components/notices.tsx';
import { Toasts } from '../components/toasts.tsx';
import { type Page, pages } from '../pages/pages.ts';
import { SignIn } from '../pages/sign-in/page.tsx';
import { texts } from '../texts.ts';
import { Account } from './account.tsx';
import { Banners } from './banners.tsx';
import { Navigation } from './navigation.tsx';
import { PageBoundary } from './page-boundary.tsx';
import { to, useRoute } from './route.ts';

const lazies = new Map<string, ComponentType>(pages.map(({ path, load }) => [path, lazy(load)]));
const HOME = pages[0]?.path ?? '';

export function App({ product }: { readonly product: string }) {
  const signedIn = useStore(session);
  const [isOpen, setOpen] = useState(false);
  const route = useRoute();
  const page = pages.find(({ path }) => path === (route.page === '' ? HOME : route.page));
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the menu
  useEffect(() => setOpen(false), [route.page]);
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to a place in the page, whose address is used otherwise */}
      <a className="skip" href="#content" onClick={skip}>
        {texts.shell.skip}
      </a>
      <header>
        {signedIn && (
          <span className="menu-button">
            <Button icon="menu" iconOnly onPress={() => setOpen(!isOpen)} aria-expanded={isOpen}>
              {texts.shell.openMenu}
            </Button>
          </span>
        )}
        <a className="brand" href={to('')} aria-label={product}>
          <Logo />
          <span>{product}</span>
        </a>
        <Account />
      </header>
      <Banners />
      <div className={`frame${signedIn ? '' : ' alone'}`}>
        {signedIn && <Navigation current={page?.within ?? page?.path} role={signedIn.self.role} isOpen={isOpen} />}
        <main id="content" tabIndex={-1}>
          {signedIn ? <Shown page={page} role={signedIn.self.role} product={product} /> : <SignIn product={product} />}
        </main>
      </div>
      <Toasts />
    </>
  );
}

interface ShownProps {
  readonly page: Page | undefined;
  readonly role: Parameters<typeof isOperator>[0];
  readonly product: string;
}

function Shown({ page, role, product }: ShownProps) {
  const isAllowed = !page?.forOperators || isOperator(role);
  const Content = page && isAllowed ? lazies.get(page.path) : undefined;
  useEntered(page?.title ?? texts.shell.notFound, product);
  if (Content)
    return (
      <PageBoundary key={page?.path}>
        <Suspense fallback={<Loading />}>
          <Content />
        </Suspense>
      </PageBoundary>
    );
  const advice = isAllowed ? texts.shell.notFoundAdvice : texts.shell.notAllowedAdvice;
  return (
    <>
      <h1 className="hidden-text">{isAllowed ? texts.shell.notFound : texts.shell.notAllowed}</h1>
      <Empty icon="problem" title={isAllowed ? texts.shell.notFound : texts.shell.notAllowed} advice={advice}>
        <a className="button plain" href={to('')}>
          {texts.shell.home}
        </a>
      </Empty>
    </>
  );
}

/** The title of the window, and the focus at the beginning of the page, as after a click on a link of another site. */
function useEntered(title: string, product: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · ${product}`;
    if (!isFirst.current) document.getElementById('content')?.focus();
    isFirst.current = false;
  }, [title, product]);
}

/** Not by the link itself: the part after `#` is the address of the page. */
function skip(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}
