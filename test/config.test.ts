import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Config, loadConfig, readEnv } from '../src/config.ts'
import { UsageError } from '../src/errors.ts'
import { newFolder, startScript } from './support/child.ts'
import { atLength } from './support/engines.ts'

const secret = 'thirty-two bytes or more of secret'
const plain = { CHIRON_SECRET: secret }
const production = {
  NODE_ENV: 'production',
  CHIRON_SECRET: secret,
  CHIRON_SMTP_URL: 'smtps://mail.vets.example',
  CHIRON_PUBLIC_URL: 'https://access.vets.example',
}

/** The message about wrong settings: one line that begins with the setting's name. */
function complaint(env: Record<string, string>): string {
  try {
    loadConfig({ ...plain, ...env })
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error))
    assert.doesNotMatch(error.message, /[\r\n]/)
    return error.message
  }
  throw new assert.AssertionError({ message: `${JSON.stringify(env)} was accepted` })
}

test('Without settings the service is on this machine alone, on port 3000, with everything on', () => {
  const { secret: given, ...config } = loadConfig(plain)
  assert.equal(given, secret)
  assert.deepEqual(config, {
    production: false,
    host: '127.0.0.1',
    port: 3000,
    publicUrl: 'http://localhost:3000',
    databaseUrl: 'sqlite:data/chiron.db',
    smtpUrl: null,
    mailFrom: 'Chiron <no-reply@localhost>',
    smtpName: null,
    smtpOAuth: null,
    dkim: null,
    mailBounces: null,
    mailDomains: [],
    secretPrevious: null,
    trustedProxies: [],
    corsOrigins: [],
    timeZone: 'UTC',
    limits: true,
    workers: 1,
    keepEventsDays: 400,
    keepMailDays: 30,
    keepSessionsDays: 30,
    rosterKeepDays: 400,
    rosterKeepImports: 30,
    school: { name: null, logo: null, support: null, privacy: null },
    metricsPort: null,
    traces: null,
    webhookAllow: [],
    rosterSource: null,
    rosterReportTo: [],
    rosterHolds: {},
    rosterBadRows: { max: 0 },
    rosterMaxAgeDays: 7,
    passkeys: true,
    passkeyId: 'localhost',
    staffPasskey: 'optional',
    veterinarianSignIn: ['code', 'passkey'],
    studentSignIn: ['code', 'passkey', 'school'],
    staffSignIn: ['code', 'passkey', 'school'],
    providerAllow: [],
  } satisfies Omit<Config, 'secret'>)
})

const smtp = 'smtp://mail.vets.example'
const tlsDatabase = 'postgres://u:p@a/chiron?sslmode=verify-full&sslrootcert=/etc/ssl/ca.pem'
const good: [name: string, value: string, field: keyof Config, expected: unknown][] = [
  ['CHIRON_HOST', 'localhost', 'host', 'localhost'],
  ['CHIRON_HOST', '::1', 'host', '::1'],
  ['CHIRON_HOST', '', 'host', '127.0.0.1'],
  ['CHIRON_PORT', '0', 'port', 0],
  ['CHIRON_PORT', '65535', 'port', 65_535],
  ['CHIRON_PORT', '8080', 'publicUrl', 'http://localhost:8080'],
  ['CHIRON_PUBLIC_URL', 'https://access.vets.example', 'publicUrl', 'https://access.vets.example'],
  ['CHIRON_PUBLIC_URL', 'https://access.vets.example/', 'publicUrl', 'https://access.vets.example'],
  ['CHIRON_DATABASE_URL', 'sqlite:/var/lib/chiron.db', 'databaseUrl', 'sqlite:/var/lib/chiron.db'],
  ['CHIRON_DATABASE_URL', 'postgres://u:p@a:1,b:2/chiron', 'databaseUrl', 'postgres://u:p@a:1,b:2/chiron'],
  ['CHIRON_DATABASE_URL', 'postgresql://u@a/chiron', 'databaseUrl', 'postgresql://u@a/chiron'],
  ['CHIRON_DATABASE_URL', tlsDatabase, 'databaseUrl', tlsDatabase],
  ['CHIRON_SMTP_URL', 'smtp://u:p%40@mail.example:25', 'smtpUrl', 'smtp://u:p%40@mail.example:25'],
  ['CHIRON_SMTP_URL', 'smtps://[2001:db8::1]', 'smtpUrl', 'smtps://[2001:db8::1]'],
  ['CHIRON_MAIL_FROM', 'Vet School <a@b.example>', 'mailFrom', 'Vet School <a@b.example>'],
  ['CHIRON_MAIL_FROM', 'a@b.example', 'mailFrom', 'a@b.example'],
  [
    'CHIRON_MAIL_DOMAINS',
    'School.example, vété.example',
    'mailDomains',
    ['school.example', 'xn--vt-bjab.example'],
  ],
  ['CHIRON_SECRET', 'äëïöüÿåøßéàèñçœæ', 'secret', 'äëïöüÿåøßéàèñçœæ'],
  ['CHIRON_SECRET_PREVIOUS', 's'.repeat(32), 'secretPrevious', 's'.repeat(32)],
  [
    'CHIRON_CORS_ORIGINS',
    'https://a.example, http://b:1',
    'corsOrigins',
    ['https://a.example', 'http://b:1'],
  ],
  ['CHIRON_TIME_ZONE', 'Europe/Lisbon', 'timeZone', 'Europe/Lisbon'],
  ['CHIRON_LIMITS', 'off', 'limits', false],
  ['CHIRON_ROSTER_HOLDS', 'leavers:20, classes : 100', 'rosterHolds', { leavers: 20, classes: 100 }],
  ['CHIRON_ROSTER_BAD_ROWS', '5', 'rosterBadRows', { max: 5 }],
  ['CHIRON_ROSTER_BAD_ROWS', '2.5 %', 'rosterBadRows', { share: 0.025 }],
  ['CHIRON_ROSTER_MAX_AGE_DAYS', '30', 'rosterMaxAgeDays', 30],
  ['CHIRON_LIMITS', 'on', 'limits', true],
  ['CHIRON_PASSKEYS', 'off', 'passkeys', false],
  ['CHIRON_PASSKEY_ID', 'LOCALHOST', 'passkeyId', 'localhost'],
  ['CHIRON_STAFF_PASSKEY', 'required', 'staffPasskey', 'required'],
  ['CHIRON_STUDENT_SIGN_IN', ' school , code,school', 'studentSignIn', ['code', 'school']],
  ['CHIRON_STAFF_SIGN_IN', 'school', 'staffSignIn', ['school']],
  ['CHIRON_VETERINARIAN_SIGN_IN', 'code', 'veterinarianSignIn', ['code']],
  ['CHIRON_ROSTER_SOURCE', '/srv/roster', 'rosterSource', { kind: 'folder', path: '/srv/roster' }],
  [
    'CHIRON_ROSTER_SOURCE',
    'https://u:p%40@sis.example/a.zip?b=c#d',
    'rosterSource',
    {
      kind: 'web',
      url: 'https://sis.example/a.zip?b=c',
      credentials: { Authorization: 'Basic dTpwQA==' },
    },
  ],
  [
    'CHIRON_ROSTER_SOURCE',
    'http://[::1]:1/',
    'rosterSource',
    { kind: 'web', url: 'http://[::1]:1/', credentials: {} },
  ],
  [
    'CHIRON_ROSTER_SOURCE',
    'sftp://u:p%2F@sis.example:2222/~/out%20box',
    'rosterSource',
    {
      kind: 'sftp',
      host: 'sis.example',
      port: 2222,
      user: 'u',
      password: 'p/',
      keyFile: null,
      hostKeys: [],
      path: './out box',
    },
  ],
  ['CHIRON_ROSTER_REPORT_TO', 'a@b.example, c@d.example', 'rosterReportTo', ['a@b.example', 'c@d.example']],
  ['CHIRON_WORKERS', '256', 'workers', 256],
  ['CHIRON_WORKERS', 'auto', 'workers', availableParallelism()],
]
for (const [name, value, field, expected] of good) {
  test(`${name}=${value} is understood`, () => {
    assert.deepEqual(loadConfig({ ...plain, CHIRON_SMTP_URL: smtp, [name]: value })[field], expected)
  })
}

test('CHIRON_TRUSTED_PROXIES takes addresses and CIDRs', () => {
  const { trustedProxies } = loadConfig({
    ...plain,
    CHIRON_TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.7,2001:db8::/32, ::1',
  })
  assert.deepEqual(
    trustedProxies.map(([address, bits]) => `${address}/${bits}`),
    ['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32', '::1/128'],
  )
})

test('CHIRON_TRUSTED_PROXIES takes whole private networks', () => {
  const { trustedProxies } = loadConfig({ ...plain, CHIRON_TRUSTED_PROXIES: '10.0.0.0/8,fc00::/7,2001::/16' })
  assert.equal(trustedProxies.length, 3)
})

test('CHIRON_SECRET must not be what is typed in a hurry, but the one before may be, to get rid of it', () => {
  const guessable = [
    'x'.repeat(32),
    'ü'.repeat(16),
    '01'.repeat(20),
    'changeme'.repeat(5),
    'password12345'.repeat(3).slice(0, 36),
    'abcdefghijklmnopqrstuvwxyz0123456789',
    'zyxwvutsrqponmlkjihgfedcba9876543210',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaabcdefgh',
  ]
  for (const value of guessable) {
    assert.match(complaint({ CHIRON_SECRET: value }), /^CHIRON_SECRET is easy to guess; /, value)
    assert.equal(complaint({ CHIRON_SECRET: value }).includes(value), false)
    assert.doesNotThrow(() => loadConfig({ ...plain, CHIRON_SECRET_PREVIOUS: value }))
  }
})

test('CHIRON_SECRET may be whatever a generator makes', () => {
  for (let i = 0; i < 1_000; i++) {
    const bytes = randomBytes(36)
    for (const value of [
      bytes.toString('hex').slice(0, 32),
      bytes.toString('base64'),
      bytes.toString('base64url'),
    ])
      assert.doesNotThrow(() => loadConfig({ CHIRON_SECRET: value }), value)
  }
})

const bad: [name: string, ...values: string[]][] = [
  ['CHIRON_PORT', '65536', '-1', '3000.5', '0x50', '1e3', ' 3000', 'http', '3000\n1'],
  ['CHIRON_PUBLIC_URL', 'chiron', 'ftp://a', 'https://a/path', 'https://a?q=1', 'https://u@a', 'https://a#b'],
  [
    'CHIRON_DATABASE_URL',
    'sqlite:',
    'sqlite::memory:',
    'mysql://a/b',
    'postgres://a',
    'data/chiron.db',
    'postgres://a/b?pooler=session',
  ],
  ['CHIRON_SMTP_URL', 'mail.example', 'http://mail.example', 'smtp://', 'smtp://u:%zz@mail.example'],
  ['CHIRON_MAIL_FROM', 'nobody', 'a@b, c@d', '<a@b', 'a b@c', 'X <a@b>\nBcc: c@d', ''.padEnd(3)],
  ['CHIRON_MAIL_DOMAINS', 'school', '@school.example', '*.school.example', 'a.example;b.example', '10.0.0.1'],
  ['CHIRON_SECRET', 'short', 'x'.repeat(31), '0f3a9c71b2e84d56a7c0915e8fd3246'],
  ['CHIRON_SECRET_PREVIOUS', 'short'],
  ['CHIRON_TRUSTED_PROXIES', 'proxy', '10.0.0.0/33', '10.0.0', '::1/129', '10.0.0.1;10.0.0.2'],
  ['CHIRON_TRUSTED_PROXIES', '0.0.0.0/0', '::/0', '0.0.0.0/1,128.0.0.0/1', '10.0.0.1,8.0.0.0/7', '2000::/3'],
  ['CHIRON_CORS_ORIGINS', '*', 'https://a.example/', 'a.example', 'null', 'https://u:p@a.example'],
  ['CHIRON_TIME_ZONE', 'Mars/Olympus', 'x\ny', '+25:00'],
  ['CHIRON_LIMITS', 'maybe', 'ON', 'false'],
  ['CHIRON_PASSKEYS', 'ON', 'yes'],
  ['CHIRON_PASSKEY_ID', 'elsewhere.example', 'host', 'https://localhost'],
  ['CHIRON_STAFF_PASSKEY', 'always'],
  ['CHIRON_STUDENT_SIGN_IN', 'passkey', ',', 'codes'],
  ['CHIRON_STAFF_SIGN_IN', 'passkey', 'password'],
  ['CHIRON_VETERINARIAN_SIGN_IN', 'school', 'passkey', 'code,school'],
  ['CHIRON_PROVIDER_ALLOW', 'localhost', '10.0.0.0/33'],
  ['CHIRON_WORKERS', '0', '257', '-1', 'two', '1.5'],
  ['CHIRON_METRICS_PORT', '3000', '65536', 'on'],
  ['CHIRON_KEEP_MAIL_DAYS', '0', '3661', 'ever'],
  ['CHIRON_ROSTER_KEEP_IMPORTS', '0', '10001'],
  ['CHIRON_ROSTER_HOLDS', 'leavers', 'leavers:101', 'leavers:-1', 'mode:10', 'toString:10'],
  ['CHIRON_ROSTER_BAD_ROWS', '-1', '100%', 'some', '1.5'],
]
for (const [name, ...values] of bad) {
  test(`${name} that is wrong stops the start with one line that names it`, () => {
    for (const value of values) assert.ok(complaint({ [name]: value }).startsWith(`${name} `), value)
  })
}

test('An unknown setting is refused, with a suggestion', () => {
  const table: [name: string, message: RegExp][] = [
    ['CHIRON_PROT', /^CHIRON_PROT is not a setting; did you mean CHIRON_PORT\?$/],
    ['CHIRON_STMP_URL', /did you mean CHIRON_SMTP_URL\?$/],
    ['CHIRON_SECRETS', /did you mean CHIRON_SECRET\?$/],
    ['CHIRON_WORKER', /did you mean CHIRON_WORKERS\?$/],
    ['CHIRON_', /^CHIRON_ is not a setting/],
    ['CHIRON_NONSENSE', /^CHIRON_NONSENSE is not a setting/],
  ]
  for (const [name, message] of table) assert.match(complaint({ [name]: '1' }), message)
  assert.doesNotMatch(complaint({ CHIRON_NONSENSE: '1' }), /did you mean/)
  assert.doesNotThrow(() => loadConfig({ ...plain, CHIRONX: '1', PATH: '/' }))
})

test('A complaint never repeats a password', () => {
  const table: Record<string, string>[] = [
    { CHIRON_DATABASE_URL: 'postgres://chiron:hunter2@' },
    { CHIRON_DATABASE_URL: 'mysql://chiron:hunter2@db/chiron' },
    { CHIRON_SMTP_URL: 'http://chiron:hunter2@mail.example' },
    { CHIRON_SMTP_URL: 'smtp:chiron:hunter2' },
    { CHIRON_PUBLIC_URL: 'ftp://chiron:hunter2@vets.example' },
    { CHIRON_PUBLIC_URL: 'https://chiron:hunter2@vets.example' },
    { CHIRON_CORS_ORIGINS: 'https://chiron:hunter2@vets.example' },
    { CHIRON_SECRET: 'hunter2' },
    { CHIRON_SECRET_PREVIOUS: 'hunter2' },
    { CHIRON_SMPT_URL: 'smtp://chiron:hunter2@mail.example' },
  ]
  for (const env of table) assert.doesNotMatch(complaint(env), /hunter2/)
})

describe('In production', () => {
  test('the service starts with secret, SMTP and an https address', () => {
    const config = loadConfig(production)
    assert.ok(config.production && config.limits)
    assert.equal(config.mailFrom, 'Chiron <no-reply@access.vets.example>')
  })

  const refusals: [name: string, env: Record<string, string>][] = [
    ['CHIRON_SECRET', { CHIRON_SECRET: '' }],
    ['CHIRON_SMTP_URL', { CHIRON_SMTP_URL: '' }],
    ['CHIRON_PUBLIC_URL', { CHIRON_PUBLIC_URL: '' }],
    ['CHIRON_PUBLIC_URL', { CHIRON_PUBLIC_URL: 'http://access.vets.example' }],
    ['CHIRON_LIMITS', { CHIRON_LIMITS: 'off' }],
  ]
  for (const [name, env] of refusals) {
    test(`it refuses to start with ${JSON.stringify(env)}`, () => {
      assert.ok(complaint({ ...production, ...env }).startsWith(`${name} `))
    })
  }

  describe('a PostgreSQL on another machine', () => {
    const start = (url: string, env: Record<string, string> = production) =>
      loadConfig({ ...env, CHIRON_DATABASE_URL: url })

    for (const url of [
      'postgres://u:hunter2@db.example/chiron',
      'postgresql://u:hunter2@192.0.2.7:5432/chiron',
      'postgres://u:hunter2@[2001:db8::1]/chiron',
      'postgres://u:hunter2@localhost.db.example/chiron',
      'postgres://u:hunter2@127.0.0.1,db.example/chiron',
      'postgres://u:hunter2@db.example,localhost/chiron',
      'postgres://u:hunter2@localhost/chiron?host=db.example',
      'postgres://u:hunter2@db.example/chiron?sslmode=',
      'postgres://u:hunter2@db.example/chiron?sslmode=maybe',
      'postgres://u:hunter2@db.example/chiron?sslmode=require&sslmode=',
      'postgres://u:hunter2@db.example/chiron?application_name=sslmode',
      'postgres://u:hunter2@a,b@127.0.0.1/chiron',
      'postgres://u:hunter2@/chiron',
    ]) {
      test(`is refused unless the address says how to speak to it: ${url}`, () => {
        const said = complaint({ ...production, CHIRON_DATABASE_URL: url })
        assert.match(said, /^CHIRON_DATABASE_URL must set a known sslmode/)
        assert.doesNotMatch(said, /hunter2/)
        assert.doesNotThrow(() => start(url, plain))
      })
    }

    for (const mode of ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'])
      test(`is accepted with sslmode=${mode}`, () => {
        for (const hosts of ['db.example', 'a.example:5432,b.example'])
          assert.doesNotThrow(() => start(`postgres://u:p@${hosts}/chiron?sslmode=${mode}`))
      })

    test('is not meant where every host is this machine', () => {
      for (const url of [
        'postgres://u@localhost/chiron',
        'postgres://u@127.0.0.1:5432,[::1]/chiron',
        'postgres://u@%2Fvar%2Frun%2Fpostgresql/chiron',
        'postgres://u@localhost/chiron?host=/var/run/postgresql',
        'sqlite:data/chiron.db',
      ])
        assert.doesNotThrow(() => start(url), url)
    })
  })

  test('it makes no secret of its own', (t) => {
    const folder = newFolder()
    t.after(folder.remove)
    complaint({
      ...production,
      CHIRON_SECRET: '',
      CHIRON_DATABASE_URL: `sqlite:${join(folder.path, 'chiron.db')}`,
    })
    assert.deepEqual(readdirSync(folder.path), [])
  })
})

test('Without SMTP the service listens on loopback only', () => {
  for (const host of ['127.0.0.1', '127.0.0.2', '::1', 'localhost'])
    assert.doesNotThrow(() => loadConfig({ ...plain, CHIRON_HOST: host }))
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'vets.example']) {
    assert.match(complaint({ CHIRON_HOST: host }), /^CHIRON_SMTP_URL must be set when CHIRON_HOST is/)
    assert.doesNotThrow(() => loadConfig({ ...plain, CHIRON_HOST: host, CHIRON_SMTP_URL: smtp }))
  }
})

test('Without SMTP the service starts only under a public address of this machine', () => {
  const refused = /^CHIRON_SMTP_URL must be set when CHIRON_PUBLIC_URL is http/
  for (const url of ['http://localhost:3000', 'https://localhost', 'http://127.0.0.1', 'http://[::1]:80'])
    assert.doesNotThrow(() => loadConfig({ ...plain, CHIRON_PUBLIC_URL: url }))
  for (const url of ['https://access.vets.example', 'http://192.0.2.1:3000', 'http://localhost.example']) {
    assert.match(complaint({ CHIRON_PUBLIC_URL: url }), refused)
    assert.doesNotThrow(() => loadConfig({ ...plain, CHIRON_PUBLIC_URL: url, CHIRON_SMTP_URL: smtp }))
  }
})

test('The environment wins over the .env file, whose names are checked too', (t) => {
  const folder = newFolder()
  t.after(folder.remove)
  const file = join(folder.path, '.env')
  writeFileSync(file, `CHIRON_PORT=4000\nCHIRON_TIME_ZONE="Europe/Lisbon" # the school's\n`)
  const env = readEnv({ ...plain, CHIRON_PORT: '5000' }, file)
  const { port, timeZone } = loadConfig(env)
  assert.deepEqual({ port, timeZone }, { port: 5000, timeZone: 'Europe/Lisbon' })
  assert.equal(loadConfig(readEnv(plain, file)).port, 4000)
  writeFileSync(file, 'CHIRON_PROT=4000\n')
  assert.throws(() => loadConfig(readEnv(plain, file)), /CHIRON_PROT is not a setting/)
  assert.throws(() => readEnv(plain, join(folder.path, 'none')), /there is no file .*none/)
})

describe('A secret that the service makes', atLength, () => {
  const config = fileURLToPath(new URL('../src/config.ts', import.meta.url))
  const script = `const { loadConfig } = await import(${JSON.stringify(config)})
    process.stdout.write(loadConfig(process.env).secret)`
  const secretIn = async (cwd: string, env: Record<string, string>) => {
    const child = startScript(script, { cwd, env })
    assert.deepEqual(await child.exited, { code: 0, signal: null }, child.output.err)
    return child.output.out
  }

  test('is one and the same for ten processes that start at once, and for its owner only', async (t) => {
    const folder = newFolder()
    t.after(folder.remove)
    const env = { CHIRON_DATABASE_URL: 'sqlite:store/chiron.db' }
    const made = await Promise.all(Array.from({ length: 10 }, () => secretIn(folder.path, env)))
    assert.equal(new Set(made).size, 1)
    assert.ok(Buffer.byteLength(made[0]!) >= 32)
    const store = join(folder.path, 'store')
    assert.deepEqual(readdirSync(store), ['chiron.secret'])
    assert.equal(statSync(join(store, 'chiron.secret')).mode & 0o777, 0o600)
    assert.equal(statSync(store).mode & 0o777, 0o700)
    assert.equal(readFileSync(join(store, 'chiron.secret'), 'utf8').trim(), made[0])
    assert.equal(await secretIn(folder.path, env), made[0])
  })

  test('lies in ./data with PostgreSQL, and yields to CHIRON_SECRET', async (t) => {
    const folder = newFolder()
    t.after(folder.remove)
    const env = { CHIRON_DATABASE_URL: 'postgres://u@localhost/chiron' }
    assert.equal(await secretIn(folder.path, { ...env, CHIRON_SECRET: secret }), secret)
    assert.deepEqual(readdirSync(folder.path), [])
    mkdirSync(join(folder.path, 'data'), { mode: 0o755 })
    const made = await secretIn(folder.path, env)
    // The one who made it has decided.
    assert.equal(statSync(join(folder.path, 'data')).mode & 0o777, 0o755)
    assert.equal(readFileSync(join(folder.path, 'data', 'chiron.secret'), 'utf8').trim(), made)
  })
})

describe('Settings of the way to the mail server', () => {
  const { path: folder, remove } = newFolder()
  after(remove)
  const file = (name: string, text: string | Buffer) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const pem = (type: 'rsa' | 'ed25519') => {
    const { privateKey } =
      type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : generateKeyPairSync('ed25519')
    return privateKey.export({ type: 'pkcs8', format: 'pem' })
  }
  const url = { CHIRON_SMTP_URL: 'smtp://user@mail.example' }
  const oauth = {
    CHIRON_SMTP_OAUTH_TOKEN_URL: 'https://login.example/token',
    CHIRON_SMTP_OAUTH_CLIENT_ID: 'app',
    CHIRON_SMTP_OAUTH_CLIENT_SECRET: 'hush',
  }
  const dkim = { CHIRON_DKIM_DOMAIN: 'school.example', CHIRON_DKIM_SELECTOR: 'chiron' }

  test('are understood together', () => {
    const key = pem('rsa')
    const config = loadConfig({
      ...plain,
      ...url,
      ...oauth,
      ...dkim,
      CHIRON_DKIM_KEY_FILE: file('key.pem', key),
      CHIRON_SMTP_OAUTH_SCOPE: 'a b',
      CHIRON_SMTP_NAME: 'access.school.example',
      CHIRON_MAIL_BOUNCES: 'bounces.school.example',
    })
    assert.deepEqual(config.smtpOAuth, {
      tokenUrl: 'https://login.example/token',
      clientId: 'app',
      clientSecret: 'hush',
      scope: 'a b',
      refreshToken: null,
    })
    assert.deepEqual(config.dkim, { domain: 'school.example', selector: 'chiron', privateKey: key })
    assert.equal(config.smtpName, 'access.school.example')
    assert.equal(config.mailBounces, 'bounces.school.example')
    const { CHIRON_SMTP_OAUTH_CLIENT_SECRET: _, ...open } = oauth
    const refreshing = { ...open, CHIRON_SMTP_OAUTH_REFRESH_TOKEN: 'again' }
    assert.equal(loadConfig({ ...plain, ...url, ...refreshing }).smtpOAuth?.refreshToken, 'again')
    const local = { ...oauth, CHIRON_SMTP_OAUTH_TOKEN_URL: 'http://127.0.0.1:8/token' }
    assert.doesNotThrow(() => loadConfig({ ...plain, ...url, ...local }))
    assert.equal(loadConfig({ ...plain, CHIRON_SMTP_NAME: '[192.0.2.7]' }).smtpName, '[192.0.2.7]')
  })

  test('are refused one by one, on a line that names the setting and holds no secret', () => {
    const key = { CHIRON_DKIM_KEY_FILE: file('again.pem', pem('rsa')) }
    const table: [env: Record<string, string>, line: RegExp][] = [
      [oauth, /^CHIRON_SMTP_URL must be set with CHIRON_SMTP_OAUTH_TOKEN_URL/],
      [{ ...oauth, CHIRON_SMTP_URL: 'smtp://u:hush@mail.example' }, /^CHIRON_SMTP_URL must hold no password/],
      [{ ...url, CHIRON_SMTP_OAUTH_SCOPE: 'x' }, /^CHIRON_SMTP_OAUTH_TOKEN_URL must be set/],
      [{ ...url, ...oauth, CHIRON_SMTP_OAUTH_CLIENT_ID: '' }, /^CHIRON_SMTP_OAUTH_CLIENT_ID must be set/],
      [{ ...url, ...oauth, CHIRON_SMTP_OAUTH_CLIENT_SECRET: '' }, /^CHIRON_SMTP_OAUTH_CLIENT_SECRET or/],
      [
        { ...url, ...oauth, CHIRON_SMTP_OAUTH_TOKEN_URL: 'http://login.example' },
        /TOKEN_URL must be an https/,
      ],
      [{ ...url, ...oauth, CHIRON_SMTP_OAUTH_TOKEN_URL: 'https://u:hush@login.example' }, /without a user/],
      [{ ...url, ...oauth, CHIRON_SMTP_OAUTH_TOKEN_URL: 'login' }, /TOKEN_URL must be an https/],
      [dkim, /^CHIRON_DKIM_KEY_FILE must be set with/],
      [{ CHIRON_DKIM_DOMAIN: 'school.example', ...key }, /^CHIRON_DKIM_SELECTOR must be set with/],
      [{ CHIRON_DKIM_SELECTOR: 'chiron', ...key }, /^CHIRON_DKIM_DOMAIN must be set with/],
      [{ ...dkim, ...key, CHIRON_DKIM_DOMAIN: 'a b' }, /^CHIRON_DKIM_DOMAIN must be a name/],
      [
        { ...dkim, CHIRON_DKIM_KEY_FILE: join(folder, 'none') },
        /^CHIRON_DKIM_KEY_FILE names a file that is not/,
      ],
      [
        { ...dkim, CHIRON_DKIM_KEY_FILE: file('bad.pem', 'hush') },
        /^CHIRON_DKIM_KEY_FILE must name a readable PEM/,
      ],
      [{ ...dkim, CHIRON_DKIM_KEY_FILE: file('ed.pem', pem('ed25519')) }, /with an RSA key/],
      [{ ...dkim, CHIRON_DKIM_KEY_FILE: folder }, /^CHIRON_DKIM_KEY_FILE must name a readable PEM/],
      [{ CHIRON_SMTP_NAME: 'a b' }, /^CHIRON_SMTP_NAME must be a name/],
      [{ CHIRON_MAIL_BOUNCES: 'bounce@school.example' }, /^CHIRON_MAIL_BOUNCES must be a name/],
    ]
    for (const [env, line] of table) {
      assert.match(complaint(env), line)
      assert.doesNotMatch(complaint(env), /hush|\n/)
    }
  })
})

describe('Where rosters are fetched from', () => {
  const fingerprint = `SHA256:${'a'.repeat(43)}`
  const sftp = { CHIRON_ROSTER_SOURCE: 'sftp://ada:hunter2@sis.example/out' }
  const web = { CHIRON_ROSTER_SOURCE: 'https://sis.example/roster.zip' }

  test('is said with a header, a key file and keys of the server', () => {
    const { rosterSource } = loadConfig({ ...plain, ...web, CHIRON_ROSTER_HEADER: 'X-Api-Key:  k y ' })
    assert.deepEqual(rosterSource?.kind === 'web' && rosterSource.credentials, { 'X-Api-Key': 'k y' })
    const keyed = loadConfig({
      ...plain,
      CHIRON_ROSTER_SOURCE: 'sftp://ada@sis.example/out',
      CHIRON_ROSTER_KEY_FILE: '/etc/chiron/key',
      CHIRON_ROSTER_HOST_KEY: `${fingerprint}=,SHA256:${'b'.repeat(43)}`,
    }).rosterSource
    assert.ok(keyed?.kind === 'sftp')
    assert.deepEqual(
      [keyed.password, keyed.keyFile, keyed.hostKeys],
      [null, '/etc/chiron/key', [fingerprint, `SHA256:${'b'.repeat(43)}`]],
    )
  })

  const wrong: [env: Record<string, string>, says: RegExp][] = [
    [
      { CHIRON_ROSTER_SOURCE: 'http://u:hunter2@sis.example/a.zip' },
      /^CHIRON_ROSTER_SOURCE must begin with https/,
    ],
    [{ CHIRON_ROSTER_SOURCE: 'ftp://u:hunter2@sis.example/a.zip' }, /^CHIRON_ROSTER_SOURCE must be a folder/],
    [{ CHIRON_ROSTER_SOURCE: 'https://u:hunter2@/' }, /^CHIRON_ROSTER_SOURCE must be an address/],
    [{ CHIRON_ROSTER_SOURCE: 'https://u:hunter2%@sis.example/' }, /^CHIRON_ROSTER_SOURCE must be an address/],
    [{ CHIRON_ROSTER_SOURCE: 'sftp://sis.example/out' }, /^CHIRON_ROSTER_SOURCE must be an address/],
    [
      { CHIRON_ROSTER_SOURCE: 'sftp://u:hunt#er2@sis.example/out' },
      /^CHIRON_ROSTER_SOURCE must be an address/,
    ],
    [{ CHIRON_ROSTER_SOURCE: 'sftp://ada@sis.example/out' }, /^CHIRON_ROSTER_SOURCE must have a password/],
    [{ ...sftp, CHIRON_ROSTER_HEADER: 'A: hunter2' }, /^CHIRON_ROSTER_HEADER is only for an https source/],
    [{ ...web, CHIRON_ROSTER_HOST_KEY: fingerprint }, /^CHIRON_ROSTER_HOST_KEY is only for an sftp source/],
    [{ ...web, CHIRON_ROSTER_KEY_FILE: '/key' }, /^CHIRON_ROSTER_KEY_FILE is only for an sftp source/],
    [{ ...web, CHIRON_ROSTER_HEADER: 'hunter2' }, /^CHIRON_ROSTER_HEADER must be a header/],
    [{ ...web, CHIRON_ROSTER_HEADER: 'A: hunter2\r\nB: c' }, /^CHIRON_ROSTER_HEADER must be a header/],
    [
      {
        CHIRON_ROSTER_SOURCE: 'https://u:p@sis.example/',
        CHIRON_ROSTER_HEADER: 'authorization: Bearer hunter2',
      },
      /^CHIRON_ROSTER_HEADER must not be Authorization/,
    ],
    [
      { ...sftp, CHIRON_ROSTER_HOST_KEY: 'MD5:00:11' },
      /^CHIRON_ROSTER_HOST_KEY must be comma-separated fingerprints/,
    ],
    [{ CHIRON_ROSTER_REPORT_TO: 'a@b.example,nobody' }, /^CHIRON_ROSTER_REPORT_TO holds an address/],
    [
      { CHIRON_ROSTER_REPORT_TO: Array(11).fill('a@b.example').join() },
      /^CHIRON_ROSTER_REPORT_TO has more than 10/,
    ],
  ]
  for (const [env, says] of wrong)
    test(`is refused: ${JSON.stringify(env)}`, () => {
      assert.match(complaint(env), says)
      assert.doesNotMatch(complaint(env), /hunter2|hunt#er2/)
    })
})
