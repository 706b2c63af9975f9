import type { Customer } from './billing.ts';

/** One thing to try, and what to see. */
export interface Step {
  readonly title: string;
  readonly commands: readonly string[];
}

/**
 * What to try, in order, as commands that work as they stand.
 * @param folder where certificates and keys are, as a shell in the current directory names it
 */
export function steps(url: string, folder: string): Step[] {
  const as = (who: 'operator' | Customer, curl = 'curl -s') =>
    `${curl} --cacert ${folder}/ca.pem --cert ${folder}/${who}.pem --key ${folder}/${who}.key`;
  const token = `-H "Authorization: Bearer $(node -p "JSON.parse(fs.readFileSync('${folder}/acme.token')).access_token")"`;
  const json = "-H 'Content-Type: application/json'";
  const enable = (reason: string) =>
    `-d '${JSON.stringify({ action: 'enable', categories: 'INVOICES', options: { duration: '5m', reason } })}'`;
  const control = `${url}/rdcp/v1/control`;
  const status = `${url}/rdcp/v1/status`;

  return [
    {
      title: 'The operator looks after all tenants. The certificate alone says who that is:',
      commands: [`${as('operator')} ${url}/rdcp/v1/session`, `${as('operator')} ${url}/rdcp/v1/tenants`],
    },
    {
      title: "Acme's engineer gets a token for an API key. It is worth nothing without this certificate:",
      commands: [
        `${as('acme')} -d grant_type=client_credentials -d client_id=acme-engineer --data-urlencode client_secret@${folder}/acme.api-key -o ${folder}/acme.token ${url}/rdcp/v1/token`,
        `${as('acme')} ${token} ${url}/rdcp/v1/session`,
      ],
    },
    {
      title: "See Acme's invoices here for five minutes, and none of Globex:",
      commands: [`${as('acme')} ${token} ${json} ${enable('a wrong tax rule')} ${control}`],
    },
    {
      title: 'What is refused: no certificate; a key alone; the token from another certificate; another tenant:',
      commands: [
        `curl -sS --cacert ${folder}/ca.pem ${status}`,
        `${as('acme')} -H "X-RDCP-API-Key: $(cat ${folder}/acme.api-key)" ${status}`,
        `${as('globex')} ${token} ${status}`,
        `${as('acme')} ${token} -H 'X-RDCP-Tenant-ID: globex' ${status}`,
      ],
    },
    {
      title: 'Who did what, when and why. The operator reads all of it:',
      commands: [`${as('operator')} '${url}/rdcp/v1/audit?limit=10'`],
    },
    {
      title: "Revoke Acme's certificate. Within a second it is refused, without a restart:",
      commands: [
        `openssl ca -config ${folder}/openssl.cnf -revoke ${folder}/acme.pem && openssl ca -config ${folder}/openssl.cnf -gencrl -out ${folder}/crl.pem && sleep 2`,
        `${as('acme', 'curl -sS')} ${token} ${status}`,
      ],
    },
  ];
}

export function guide(url: string, folder: string): string {
  const text = steps(url, folder).map(
    ({ title, commands }) => `${title}\n${commands.map((it) => `  ${it}\n`).join('')}`,
  );
  return `
Billing writes invoices for two customers, Acme and Globex. Its debug output is off. The remote control at
${url} is at security level enterprise: every connection shows a certificate.

${text.join('\n')}
Certificates, keys and the trail are in ${folder}, and are made again at every start.
Stop it with Ctrl-C.
`;
}
