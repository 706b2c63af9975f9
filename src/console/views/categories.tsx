import { Badge } from '../parts/badge.tsx';
import { Empty, Loading } from '../parts/notice.tsx';
import { Text } from '../parts/text.tsx';
import { Time } from '../parts/time.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { href } from '../state/route.ts';
import { navigate } from '../state/use-route.ts';
import { useStore } from '../state/use-store.ts';
import type { ViewProps } from './view.ts';

export function CategoriesView({ connection, route }: ViewProps) {
  const categories = useStore(connection, (state) => state.categories);
  const search = route.query.get('q') ?? '';
  if (categories === undefined) return <Loading what="categories" />;
  const found = [...categories.values()].filter(({ name }) => name.includes(search.toUpperCase()));
  return (
    <>
      <input
        type="search"
        aria-label="Search categories"
        value={search}
        onInput={(event) =>
          navigate(href('categories', undefined, { q: event.currentTarget.value }), { replace: true })
        }
      />
      {found.length === 0 && <Empty title="No category" />}
      <VirtualList
        items={found}
        keyOf={({ name }) => name}
        rowHeight={44}
        renderRow={({ name, enabled, description, otelrdcp_expiresAt }) => (
          <>
            <a href={href('categories', name)}>{name}</a> <Text value={description} />
            <Badge tone={enabled ? 'on' : 'off'}>{enabled ? 'on' : 'off'}</Badge>
            {otelrdcp_expiresAt !== undefined && <Time at={otelrdcp_expiresAt} />}
          </>
        )}
      />
    </>
  );
}
