import { migratePostgres } from '../../../store/postgres/store.ts';
import { type Command, text, UsageError } from '../command.ts';

export const storeMigrate: Command = {
  summary: 'make or update the schema of a PostgreSQL store; services do so at their start where their user may',
  options: { store: { value: 'STORE', help: 'postgres://USER@HOST/DATABASE (default: RDCP_STORE)' } },
  notes: ['sqlite:FILE and redis://HOST need no migration.'],
  examples: ['rdcp store migrate --store postgres://admin@db/shop'],
  run: async (terminal, values) => {
    const url = text(values, 'store') ?? terminal.env.RDCP_STORE ?? '';
    if (!/^postgres(ql)?:/.test(url)) throw new UsageError('--store must be postgres://USER@HOST/DATABASE');
    const { schema, from, to } = await migratePostgres(url);
    const done =
      from === to ? `nothing to do, it has version ${to}` : `version ${to}, ${from === 0 ? 'new' : `was ${from}`}`;
    terminal.out(`Schema ${schema}: ${done}.`);
    return 0;
  },
};
