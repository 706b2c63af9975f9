/** What to try, in order, as commands that work as they stand. */
export function guide(url: string, folder: string): string {
  const logIn = (name: string) =>
    `curl -s -c ${folder}/${name}.cookies -d name=${name} --data-urlencode password@${folder}/${name}.password ${url}/login`;
  const as = (name: string) => `curl -s -b ${folder}/${name}.cookies`;
  const enable = JSON.stringify({ action: 'enable', categories: 'GREETINGS', options: { duration: '5m' } });
  const control = `-H 'Content-Type: application/json' -d '${enable}' ${url}/rdcp/v1/control`;

  return `
A service with a login of its own is at ${url}. Its debug output is off.

Log in as ada, a developer, and see who that is to the remote control:
  ${logIn('ada')}
  ${as('ada')} ${url}/rdcp/v1/session

Developers may switch debug output. Greet, and look here:
  ${as('ada')} ${control}
  ${as('ada')} ${url}/

Ben, of the support, may look and not switch; without a login there is nothing to see:
  ${logIn('ben')}
  ${as('ben')} ${url}/rdcp/v1/status
  ${as('ben')} ${control}
  curl -s ${url}/rdcp/v1/status

Passwords and cookies are in ${folder}, and are made again at every start.
Stop it with Ctrl-C.
`;
}
