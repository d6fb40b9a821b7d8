/**
 * The documents for operators, followed word by word on a machine of their own: every shell block of five pages, with
 * Debian's PostgreSQL, nginx, logrotate and Postfix, by root and by the user of the service. `npm run follow` does the same on
 * a Debian that was installed a moment ago.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { atLength } from './support/engines.ts'
import { type Followed, startReader } from './support/follow.ts'
import { schools } from './support/machine.ts'
import { blocksOf, pages } from './support/shell-blocks.ts'
import { eventually } from './support/wait.ts'

const settings = '--env-file /etc/chiron/chiron.env'
/** Every file with its mode, owner, size and time. */
const listing = 'find /opt/chiron -printf "%p %m %u %s %T@\\n" | sort'

suite('The examples of the documents for operators', () => {
  const blocks = pages.flatMap(blocksOf)

  test('say what they are, and few of them cannot be run', () => {
    for (const { at, language } of blocks) assert.match(language, /^(sh|ini|yaml|haproxy|nginx|text)$/, at)
    const unrun = blocks.filter(({ language }) => language === 'text').map(({ text }) => text.split(' ')[0])
    assert.deepEqual(unrun, ['apt-get', 'docker', 'chiron:', 'systemctl'])
    assert.ok(blocks.filter(({ language }) => language === 'sh').length > 30)
  })

  test('use npx for nothing but the installation', () => {
    for (const { at, text } of blocks)
      for (const [line] of text.matchAll(/.*npx.*/g))
        assert.match(line, /^npx -y .* npm (ci|prune --omit=dev)$/, at)
  })
})

for (const { as, database } of [
  { as: 'root', database: 'PostgreSQL' },
  { as: 'chiron', database: 'SQLite' },
] as const)
  suite(`On a machine with ${database}, whose commands ${as} types,`, atLength, () => {
    let machine: Followed
    before(async () => {
      machine = await startReader({ as, database })
    })
    after(() => machine?.stop())
    const typed = async (script: string, user: string = as) => {
      const { code, text } = await machine.run(script, user)
      assert.equal(code, 0, `${script}\n${text}`)
      return text
    }

    test('the page about running it works as it stands', async () => {
      const ran = await machine.follow('docs/operating.md')
      const doctors = [...ran]
        .filter(([{ text }]) => text.startsWith('chiron doctor'))
        .map(([, { text }]) => text)
      assert.equal(doctors.length, 3)
      for (const text of doctors) assert.match(text, /checked as chiron.*\n(.*\n)*0 bad,/)
      // The proxy serves the portal, and port 80 leads to it.
      assert.match(await typed('curl -fsSL http://access.example.org/'), /<script type="module"/)
      assert.match(await typed('cat /var/log/nginx/chiron.log', 'root'), /"GET \/" 200/)
    })

    test('commands change nothing where it is installed, for anybody, from anywhere and without a home', async () => {
      const found = await typed(listing, 'root')
      for (const user of ['chiron', 'nobody', 'root']) {
        assert.match(await typed('cd /var && env -u HOME chiron --version', user), /^\d+\.\d+\.\d+\n$/)
        assert.match(await typed('cd /tmp && /opt/chiron/bin/chiron --help', user), /Usage: chiron/)
      }
      for (const user of ['chiron', 'root']) {
        assert.match(
          await typed(`cd /usr && env -u HOME chiron staff list ${settings}`, user),
          /you@example\.org/,
        )
        await typed(`cd /usr && chiron people find nobody-at-all ${settings}`, user)
        assert.match(await typed(`cd /usr && chiron doctor ${settings}`, user), /checked as chiron/)
      }
      const stranger = await machine.run(`chiron staff list ${settings}`, 'nobody')
      assert.deepEqual(stranger, {
        code: 1,
        text: 'chiron: this user may not read the settings in /etc/chiron/chiron.env: be root, or the user of the service\n',
      })
      assert.equal(await typed(listing, 'root'), found)
    })

    test('the page about mail works as it stands, and Postfix hands a bounce over', async () => {
      await machine.follow('docs/mail.md')
      const send = `curl -fsS --retry 10 --retry-connrefused -H 'Content-Type: application/json' \
        -d '{"email":"you@example.org"}' https://access.example.org/staff/send-otp`
      await eventually('the service is back', async () => (await machine.run(send)).code === 0)
      const { from } = await eventually('its mail', () =>
        machine.mails.find((mail) => mail.from.startsWith('bounce+')),
      )
      assert.match(from, /@bounces\.school\.example$/)
      await typed(`sendmail -f '<>' '${from}' <<'EOF'\n${notification(from)}EOF`, 'root')
      await eventually('the bounce in the timeline', async () =>
        /bounced permanently/.test(await typed(`chiron mail show you@example.org ${settings}`)),
      )
      // Nobody gets a bounce of what is no bounce.
      await typed(`printf 'Subject: hello\\n\\nhello\\n' | sendmail -f you@example.org '${from}'`, 'root')
      await eventually('an empty queue', async () => /is empty/.test(await typed('postqueue -p', 'root')))
    })

    test('the page about backups works as it stands, and the backups are the service’s own', async () => {
      await machine.follow('docs/backup.md')
      const owners = await typed('stat -c "%U %a" /var/backups/chiron/*', 'root')
      assert.match(owners, /^(chiron 600\n){3,}$/)
    })

    test('the page about deployment works as it stands', async () => {
      await machine.follow('deploy/README.md')
    })

    test('the page about upgrading works as it stands, also while the portal is in use', async () => {
      await machine.follow('docs/upgrading.md')
      const page = await typed('curl -fsS https://access.example.org/')
      const [, script] = /src="(\/web\/[^"]+\.js)"/.exec(page)!
      const built = await typed('find /opt/chiron/web/dist -printf "%p %s %T@\\n" | sort', 'root')
      // What npx does to a package of which it runs a command.
      await typed('cd /opt/chiron && bin/prepare', 'root')
      assert.equal(await typed('find /opt/chiron/web/dist -printf "%p %s %T@\\n" | sort', 'root'), built)
      await typed(`curl -fsS -o /dev/null https://access.example.org${script}`)
    })

    if (database === 'PostgreSQL')
      test('the page about several schools works as it stands for three of them, which share nothing', async () => {
        for (const [i, school] of schools.entries()) {
          const ran = await machine.follow('docs/schools.md', {
            own: (text) =>
              text
                .replaceAll('north', school)
                .replace(/^((?:METRICS_)?PORT)=(\d+)/gm, (_, name, port) => `${name}=${Number(port) + i}`),
            // Schools on one machine may have different databases.
            ...(school === 'coast' && { database: 'SQLite' }),
          })
          const said = [...ran.values()].map(({ text }) => text).join('')
          assert.match(
            said,
            new RegExp(`checked as chiron-${school}, the user of the service\n(.*\n)*0 bad,`),
          )
        }
        const tokens: string[] = []
        for (const school of schools) tokens.push(await signIn(school))
        for (const [i, school] of schools.entries()) {
          for (const [j, token] of tokens.entries()) {
            const url = `https://${school}.example.org/staff/me`
            const status = await typed(
              `curl -sS -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer ${token}' ${url}`,
            )
            assert.equal(status, i === j ? '200' : '401', `the token of ${schools[j]} at ${school}`)
          }
          const filesOf = (name: string) => [
            `/var/lib/chiron-${name}`,
            `/var/backups/chiron-${name}`,
            `/etc/chiron/${name}.env`,
          ]
          for (const name of schools)
            for (const path of filesOf(name)) {
              const { code } = await machine.run(`test -r ${path}`, `chiron-${school}`)
              assert.equal(code, name === school ? 0 : 1, `${path} for chiron-${school}`)
            }
          assert.equal((await machine.run('test -r /etc/chiron/chiron.env', `chiron-${school}`)).code, 1)
          assert.match(
            await typed(`stat -c '%U %a' /var/backups/chiron-${school}/*`, 'root'),
            new RegExp(`^chiron-${school} 600\\n$`),
          )
          const metrics = await typed(`curl -fsS http://127.0.0.1:${9465 + i}/metrics`)
          const sent = /^chiron_sign_ins_total\{role="staff",[^}]*outcome="right"[^}]*\} (\d+)$/m.exec(
            metrics,
          )?.[1]
          assert.equal(sent, '1')
        }
      })

    /** Signs in a member of staff; returns the token. */
    async function signIn(school: string): Promise<string> {
      const post = (action: string, body: object) =>
        typed(
          `curl -fsS -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' https://${school}.example.org/staff/${action}`,
        )
      const email = 'you@example.org'
      const { sessionId } = JSON.parse(await post('send-otp', { email }))
      const mail = await eventually('the mail of the school', () =>
        machine.mails.find(({ raw }) => raw.includes(`no-reply@${school}.example.org`)),
      )
      const otp_code = Number(/^ *(\d{6}|\d{8})\r?$/m.exec(mail.raw)![1])
      return JSON.parse(await post('validate-otp', { email, otp_code, sessionId })).access_token
    }

    if (database === 'SQLite')
      test('the doctor finds files that the service may not write, also as root', async () => {
        const doctor = async () => (await machine.run(`chiron doctor ${settings}`, 'root')).text
        const faults = [
          [
            'chown root: /var/lib/chiron/chiron.db',
            'chown chiron: /var/lib/chiron/chiron.db',
            'chiron\\.db, which',
          ],
          [
            'chown root: /var/lib/chiron',
            'chown chiron: /var/lib/chiron',
            '/var/lib/chiron(/chiron\\.db)?, which',
          ],
        ] as const
        for (const [spoil, mend, named] of faults) {
          await typed(spoil, 'root')
          assert.match(
            await doctor(),
            new RegExp(`BAD +store +chiron may not write .*${named} belongs to root`),
          )
          await typed(mend, 'root')
        }
        assert.match(await doctor(), /\n0 bad,/)
        await typed('chmod 600 /etc/chiron/chiron.env', 'root')
        assert.match(await doctor(), /warning +settings +chiron may not read \/etc\/chiron\/chiron\.env/)
        await typed('systemd-tmpfiles --create chiron.conf', 'root')
        assert.doesNotMatch(await doctor(), /may not read/)
      })

    if (database === 'SQLite')
      test('a store that root makes belongs to the service', async () => {
        await typed('systemctl stop chiron; rm /var/lib/chiron/*', 'root')
        await typed(`chiron migrate ${settings}`, 'root')
        assert.equal(await typed('stat -c %U /var/lib/chiron/chiron.db', 'root'), 'chiron\n')
      })
  })

/** A mail server could not deliver the mail with this envelope sender (RFC 3464). */
const notification = (to: string) => `From: MAILER-DAEMON@mail.example.org
To: ${to}
Subject: Undelivered Mail
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary=b

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mail.example.org

Final-Recipient: rfc822; you@example.org
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 no such user

--b--
`
