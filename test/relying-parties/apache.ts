/** Apache with mod_auth_openidc. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '../support/child.ts'
import { sampleIn } from '../support/samples.ts'
import { type Party, type World, works } from './world.ts'

const modules = '/usr/lib/apache2/modules'

async function signIn({ folder, service, newSite, visits }: World): Promise<void> {
  const site = await newSite('/secure/redirect_uri')
  const file = join(folder, 'apache.conf')
  const settings = sampleIn('docs/applications.md', 'apache')
    .replace('https://access.example.org', service.url)
    .replace('https://www.example.org', site.home)
    .replace('CLIENT_ID', site.client.id)
    .replace('CLIENT_SECRET', site.client.secret!)
  const names = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'alias', 'rewrite', 'auth_openidc']
  const load = names.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`)
  const [page, cancelled, log] = ['page.html', 'cancelled.html', 'error.log'].map((name) =>
    join(folder, name),
  )
  writeFileSync(page!, 'the protected page')
  writeFileSync(cancelled!, 'You have cancelled')
  writeFileSync(
    file,
    [
      ...load,
      `ServerRoot ${folder}`,
      `PidFile ${folder}/apache.pid`,
      'ServerName 127.0.0.1',
      `Listen ${new URL(site.home).host}`,
      `ErrorLog ${log}`,
      `Alias /secure ${page}`,
      `Alias /cancelled.html ${cancelled}`,
      `<Directory ${folder}>\nRequire all granted\n</Directory>`,
      settings,
    ].join('\n'),
  )
  const child = startProcess('apache2', ['-X', '-f', file], { cwd: folder })
  const seen = { path: '/secure', shown: 'the protected page', cancelled: 'You have cancelled' }
  await visits(site, child, { ...seen, log: () => readFileSync(log!, 'utf8') })
}

export const apache: Record<string, Party> = {
  mod_auth_openidc: { isThere: () => works('test', '-f', `${modules}/mod_auth_openidc.so`), signIn },
}
