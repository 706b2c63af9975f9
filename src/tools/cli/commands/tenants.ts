import type { TenantSummary } from '../../../wire/messages.ts';
import type { Command } from '../command.ts';
import { CONNECTION_OPTIONS, connectToRead } from '../connection.ts';
import { present } from '../output.ts';

export const tenants: Command = {
  summary: 'list the tenants, and which categories are on for each',
  options: CONNECTION_OPTIONS,
  examples: ['rdcp tenants', 'rdcp tenants --tenant acme'],
  run: async (terminal, values) => {
    const answer = await (await connectToRead(terminal, values)).tenants();
    present(terminal, values, answer, (wide) => {
      const differs = answer.tenants.some(({ otelrdcp_off: off }) => off !== undefined);
      const header = [
        'TENANT',
        'NAME',
        'ON',
        ...(differs ? ['OFF'] : []),
        'TEMPORARY',
        'LAST CHANGE',
        ...(wide ? ['ISOLATION', 'SCOPE'] : []),
      ];
      const rows = answer.tenants.map((tenant) => rowOf(tenant, { wide, differs }));
      terminal.table(header, rows);
      const { otelrdcp_total: total } = answer;
      if (total !== undefined)
        terminal.note(`${answer.tenants.length} of ${total} tenants; --tenant ID shows another one`);
    });
  },
};

function rowOf(tenant: TenantSummary, { wide, differs }: Readonly<Record<'wide' | 'differs', boolean>>): string[] {
  const on = Object.entries(tenant.categories).filter(([, enabled]) => enabled);
  return [
    tenant.id,
    tenant.name ?? '-',
    on.length === 0 ? '-' : on.map(([name]) => name).join(','),
    ...(differs ? [tenant.otelrdcp_off?.join(',') ?? '-'] : []),
    String(tenant.temporaryControls),
    tenant.lastChangedAt ?? '-',
    ...(wide ? [tenant.isolationLevel, tenant.scope] : []),
  ];
}
