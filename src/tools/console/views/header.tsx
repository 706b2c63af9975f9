import { useLayoutEffect, useRef } from 'preact/hooks';
import { allowText } from '../../../wire/allow-text.ts';
import { capitalized } from '../../../wire/words/count.ts';
import { connection, hrefOf, state } from '../page.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Menu } from '../parts/menu.tsx';
import { Fields } from '../parts/tables.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import type { ViewName } from '../state/route.ts';
import { TenantChoice } from './tenant-choice.tsx';

interface HeaderProps {
  readonly service: string;
  readonly entries: readonly (readonly [ViewName, string])[];
  readonly current: ViewName;
  readonly onHelp: () => void;
  readonly onPalette: () => void;
}

/** Which service this is, the views, whose settings are shown, the connection, and who is signed in. */
export function Header({ service, entries, current, onHelp, onPalette }: HeaderProps) {
  const nav = useRef<HTMLElement>(null);
  // On a phone the views are wider than the window.
  useLayoutEffect(() => nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [current]);
  return (
    <header class="bar top">
      <span class="bar tight service">
        <img src="icon.svg" alt="" width="22" height="22" />
        <Text value={service} most={60} />
      </span>
      <nav ref={nav} class="bar" aria-label="Views">
        {entries.map(([view, title]) => (
          <a key={view} href={hrefOf(view)} aria-current={view === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <div class="bar tools">
        {connection.choosesTenants && (
          <TenantChoice
            label="Tenant"
            value={connection.tenant}
            onChoose={(chosen) => connection.chooseTenant(chosen)}
          />
        )}
        {connection.can('discovery') && <LinkState />}
        <Button kind="quiet" aria-label="Go to or do" title="Ctrl K" onClick={onPalette}>
          <Icon name="search" />
        </Button>
        <Button kind="quiet" aria-label="Keyboard shortcuts" onClick={onHelp}>
          ?
        </Button>
        <Account />
        <div class="wide-only">
          <Button onClick={() => connection.signOut()}>Sign out</Button>
        </div>
      </div>
    </header>
  );
}

function LinkState() {
  const { state: link } = state.link.value;
  return <span class={`bar tight link-state ${link}`}>{link === 'lost' ? 'No connection' : capitalized(link)}</span>;
}

function Account() {
  const session = state.session.value;
  if (session === undefined) return null;
  const { userId, method, scopes, tenantId, expiresAt, otelrdcp_allow: allow, otelrdcp_approval: approval } = session;
  return (
    <Menu
      label={
        <>
          <span class="visually-hidden">Signed in as </span>
          <Text value={userId} most={40} /> <span class="muted">{scopes.join(', ')}</span>
        </>
      }
    >
      <Fields
        of={{
          'Signed in as': <Text value={userId} />,
          With: method,
          Scopes: scopes.join(', '),
          Only: allow && allowText(allow),
          'Anything else': approval && 'waits for the approval of another user',
          Tenant: tenantId !== 'global' && tenantId,
          'Valid until': expiresAt && <Time at={expiresAt} />,
        }}
      />
      <div class="narrow-only">
        <Button onClick={() => connection.signOut()}>Sign out</Button>
      </div>
    </Menu>
  );
}
