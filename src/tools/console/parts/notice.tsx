import type { ComponentChildren } from 'preact';
import { useErrorBoundary } from 'preact/hooks';
import { now } from '../page.ts';
import type { Problem } from '../state/problem.ts';
import { Button } from './button.tsx';
import { Text } from './text.tsx';

/** A problem, and the way to try again. */
export function Notice({ problem, onRetry }: { readonly problem: Problem; readonly onRetry?: () => void }) {
  const tone = problem.status === 'offline' || problem.status === 503 ? 'warning' : 'error';
  return (
    <div class={`notice ${tone}`} role="alert">
      <strong>{problem.title}</strong>
      {problem.detail !== undefined && (
        <p>
          <Text value={problem.detail} most={1000} />
        </p>
      )}
      {problem.retryAt !== undefined && <Countdown until={problem.retryAt} />}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

function Countdown({ until }: { readonly until: number }) {
  const seconds = Math.max(0, Math.ceil((until - now.value) / 1000));
  return <p class="muted">{seconds === 0 ? 'You can try again now.' : `Possible again in ${seconds} s.`}</p>;
}

/** Nothing to show, and why. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="loading" role="status">
      Loading {what} …
    </div>
  );
}

/** Shows a notice in place of a part of the page that throws. The rest of the page goes on. */
export function Boundary({ children }: { readonly children: ComponentChildren }) {
  const [failure] = useErrorBoundary((error) => console.error(error));
  if (failure === undefined) return <>{children}</>;
  return (
    <p class="notice error" role="alert">
      This part of the page failed. Reload the page.
    </p>
  );
}
