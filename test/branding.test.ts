/** The school's name, logo and links: in the settings, the portal, pages and mails. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { loadConfig } from '../src/config.ts'
import { mailTexts } from '../src/messages/mail/templates/languages.ts'
import { readLogo } from '../src/platform/lib/branding.ts'
import { byOperator } from '../src/platform/lib/by.ts'
import { assertFit } from './support/axe.ts'
import { newFolder } from './support/child.ts'
import { inBrowser } from './support/engines.ts'
import { freshAddress, freshNetwork } from './support/fresh.ts'
import { portalOfSuite } from './support/portal-suite.ts'
import { type Service, startService } from './support/service.ts'
import { everyLanguage, portalText } from './support/texts.ts'
import { newVisitor, openTab } from './support/visitor.ts'
import { soon } from './support/wait.ts'

const logoFile = fileURLToPath(new URL('fixtures/logo.svg', import.meta.url))
const riverside = {
  CHIRON_SCHOOL_NAME: 'Riverside Veterinary School',
  CHIRON_SCHOOL_LOGO: logoFile,
  CHIRON_SUPPORT_URL: 'help@riverside.example',
  CHIRON_PRIVACY_URL: 'https://riverside.example/privacy',
}

suite('Settings of the school’s face', () => {
  const secret = { CHIRON_SECRET: 'a secret for tests that is long enough' }
  const load = (env: Record<string, string>) => loadConfig({ ...secret, ...env }).school

  test('are read', () => {
    const { name, logo, support, privacy } = load(riverside)
    assert.deepEqual(
      [name, support, privacy],
      ['Riverside Veterinary School', 'mailto:help@riverside.example', 'https://riverside.example/privacy'],
    )
    assert.equal(logo?.type, 'image/svg+xml')
    assert.match(logo?.path ?? '', /^\/assets\/school-[0-9a-f]{16}\.svg$/)
    assert.equal(load({ CHIRON_SUPPORT_URL: 'mailto:a@b.example' }).support, 'mailto:a@b.example')
    assert.equal(load({ CHIRON_SUPPORT_URL: 'https://b.example/help' }).support, 'https://b.example/help')
  })

  for (const [name, value, why] of [
    ['CHIRON_SCHOOL_NAME', ' ', /must have 1 to 100 characters/],
    ['CHIRON_SCHOOL_NAME', 'x'.repeat(101), /must have 1 to 100 characters/],
    ['CHIRON_SCHOOL_NAME', 'Two\nlines', /characters that can be seen/],
    ['CHIRON_SCHOOL_NAME', 'Turned \u202Eround', /characters that can be seen/],
    ['CHIRON_SCHOOL_NAME', 'School 123456', /no six digits in a row/],
    ['CHIRON_SCHOOL_LOGO', '/none.svg', /names a file that does not exist/],
    ['CHIRON_SCHOOL_LOGO', '/tmp', /names a file that does not exist/],
    ['CHIRON_SUPPORT_URL', 'http://b.example', /must be an https address .*, or an e-mail address/],
    ['CHIRON_SUPPORT_URL', 'javascript:alert(1)', /must be an https address/],
    ['CHIRON_SUPPORT_URL', 'mailto:a@b.example?subject=x', /must be an https address/],
    ['CHIRON_SUPPORT_URL', 'https://b.example/ticket/1234567', /no six digits in a row/],
    ['CHIRON_PRIVACY_URL', 'a@b.example', /must be an https address/],
    ['CHIRON_PRIVACY_URL', 'https://user:pass@b.example', /must be an https address/],
    ['CHIRON_KEEP_EVENTS_DAYS', '0', /must be a whole number from 1 to 3660/],
    ['CHIRON_KEEP_MAIL_DAYS', 'long', /must be a whole number/],
  ] as const)
    test(`${name}=${JSON.stringify(value.slice(0, 40))} is refused`, () => {
      assert.throws(() => load({ [name]: value }), { name: 'UsageError', message: why })
      assert.throws(() => load({ [name]: value }), { message: new RegExp(`^${name} `) })
    })
})

suite('Logos', () => {
  const folder = newFolder()
  after(() => folder.remove())
  const read = (content: string | Buffer) => {
    const file = join(folder.path, 'logo')
    writeFileSync(file, content)
    return readLogo(file)
  }
  const svg = (inside: string) => `<svg xmlns="http://www.w3.org/2000/svg">${inside}</svg>`
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

  test('are svg or png, whatever the file is called', () => {
    assert.equal((read(png) as { type: string }).type, 'image/png')
    assert.equal((read(svg('<path d="M0 0"/>')) as { type: string }).type, 'image/svg+xml')
    assert.equal(read('GIF89a'), 'must be an svg or png file')
    assert.equal(read('<html><svg></svg></html>'), 'must be an svg or png file')
    assert.equal(read(Buffer.from([0xff, 0xfe, 0x3c])), 'must be an svg or png file')
    assert.equal(read(''), 'must be an svg or png file')
  })

  test('have at most 200 kB', () => {
    assert.equal(read(Buffer.concat([png, Buffer.alloc(200_000)])), 'is larger than 200 kB')
  })

  for (const [what, inside] of [
    ['a style with a gradient of its own', '<style>.a{fill:url(#g)}</style><use href="#g"/>'],
    ['an embedded picture', '<image href="data:image/png;base64,AAAA"/>'],
    ['words that look like attributes of pages', '<text>Once on=off</text><title>mono=1</title>'],
  ] as const)
    test(`with ${what} are served`, () => {
      assert.equal(typeof read(svg(inside)), 'object')
    })

  for (const [what, text] of [
    ['a script', svg('<script>alert(1)</script>')],
    ['a script under a prefix', svg('<s:script xmlns:s="http://www.w3.org/2000/svg">1</s:script>')],
    ['an event handler', svg('<path onload="alert(1)"/>')],
    ['an event handler behind a slash', svg('<path/onclick=alert(1) />')],
    ['a foreign object', svg('<foreignObject><p>hi</p></foreignObject>')],
    ['a link elsewhere', svg('<a href="https://x.example">x</a>')],
    ['a link with xlink', svg("<use xlink:href='other.svg#a'/>")],
    ['a picture from elsewhere', svg('<image href="//x.example/a.png"/>')],
    ['an svg within data', svg('<image href="data:image/svg+xml,x"/>')],
    ['a style from elsewhere', svg('<style>@import "x.css"</style>')],
    ['a fill from elsewhere', svg('<path style="fill:url(https://x.example)"/>')],
    ['an escape in a style', svg('<path style="fill:\\75rl(//x.example)"/>')],
    ['a script by another name', svg('<a href="&#106;avascript:alert(1)">x</a>')],
    ['an animation to a script', svg('<set attributeName="x" to="&#x6a;avascript:alert(1)"/>')],
    ['an entity', `<!DOCTYPE svg [<!ENTITY x "y">]>${svg('&x;')}`],
    ['an entity further down', svg('<!ENTITY x "y">')],
    ['a style sheet by instruction', svg('<?xml-stylesheet href="x.css"?>')],
  ] as const)
    test(`with ${what} are refused`, () => {
      assert.match(
        String(read(text)),
        /^(is an svg with .*, which is not served|must be an svg or png file)$/,
      )
    })
})

suite('Without settings', () => {
  test('everything says Chiron, as before', async (t) => {
    const service = await startService('sqlite')
    t.after(() => service.stop())
    const start = await service.request('/')
    assert.match(start.text, /<title>Chiron<\/title>/)
    assert.match(start.text, /<span class="brand"><img src="\/assets\/mark\.svg" [^>]*>Chiron<\/span>/)
    assert.doesNotMatch(start.text, /<meta name="(school|support|privacy)/)
    const missing = await service.request('/nowhere', { headers: { accept: 'text/html' } })
    assert.match(missing.text, />Chiron<\/a><\/header>/)
    assert.doesNotMatch(missing.text, /<footer/)
    await service.signIn(freshAddress('plain'))
    const { mail } = service.mail.received[0]!
    assert.match(
      mail.text ?? '',
      /-- \nSent by Chiron, the access service of the veterinary school\. Replies to this message are not read\.\n*$/,
    )
  })
})

suite('With the school’s face', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', { env: riverside })
  })
  after(() => service.stop())
  const page = (path: string) => service.request(path, { headers: { accept: 'text/html' } })

  test('the start page has name, logo and links in its head', async () => {
    const { text } = await page('/')
    assert.match(text, /<title>Riverside Veterinary School<\/title>/)
    assert.match(text, /<meta name="school-name" content="Riverside Veterinary School">/)
    assert.match(text, /<meta name="school-logo" content="\/assets\/school-[0-9a-f]{16}\.svg">/)
    assert.match(text, /<meta name="support" content="mailto:help@riverside\.example">/)
    assert.match(text, /<meta name="privacy" content="https:\/\/riverside\.example\/privacy">/)
    assert.match(text, /<span class="brand"><img class="logo" [^>]*>Riverside Veterinary School<\/span>/)
  })

  test('the not-found page has them too', async () => {
    const { status, text } = await page('/nowhere')
    assert.equal(status, 404)
    assert.match(text, /<title>Page not found · Riverside Veterinary School<\/title>/)
    assert.match(text, /<a href="mailto:help@riverside\.example">Help<\/a>/)
    assert.match(text, /<a href="https:\/\/riverside\.example\/privacy">Privacy<\/a>/)
  })

  test('a public page names the school to those who preview it', async () => {
    const { userId } = await service.signIn(freshAddress(), freshNetwork())
    const { text } = await page(`/v/${userId}`)
    assert.match(text, /<title>Ada Marsh · Riverside Veterinary School<\/title>/)
    assert.match(text, /<meta property="og:site_name" content="Riverside Veterinary School">/)
  })

  test('the logo is served under its hash, and can do nothing', async () => {
    const path = /content="(\/assets\/school-[^"]+)"/.exec((await page('/')).text)![1]!
    const { status, headers, text } = await service.request(path)
    assert.equal(status, 200)
    assert.equal(text, readFileSync(logoFile, 'utf8'))
    assert.equal(headers.get('content-type'), 'image/svg+xml')
    assert.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
    )
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.equal((await service.request('/assets/school-0000000000000000.svg')).status, 404)
  })

  for (const language of everyLanguage)
    test(`mails in ${language} have the name and the links, and the code is still their only number`, async () => {
      const email = freshAddress(language)
      const headers = { 'accept-language': language, ...freshNetwork() }
      const { userId } = await service.signIn(email, headers)
      const { mail, code } = await service.mail.mailTo(email)
      const { footer, help, privacy, notices } = mailTexts[language]
      for (const said of [
        footer('Riverside Veterinary School'),
        help('help@riverside.example'),
        privacy('https://riverside.example/privacy'),
      ])
        assert.ok(mail.text?.includes(said), `${said} in ${mail.text}`)
      assert.deepEqual(mail.text?.match(/\d{6,}/g), [String(code)])
      assert.match(
        mail.html ?? '',
        /<a href="mailto:help@riverside\.example"[^>]*>help@riverside\.example<\/a>/,
      )
      assert.match(mail.html ?? '', /<a href="https:\/\/riverside\.example\/privacy"/)
      assert.match(mail.html ?? '', /font-size:18px[^>]*>Riverside Veterinary School<\/p>/)

      await service.app.parts.support.suspend(userId, 'asked to', byOperator)
      await service.post('/veterinarian/send-otp', { email }, headers)
      const told = await service.mail.mailTo(email, 2)
      const inOneLine = (text = '') => text.replaceAll(/\s+/g, ' ')
      const where = notices.suspended
        .paragraphs('', ' (help@riverside.example)')
        .find((paragraph) => paragraph.includes('help@'))
      assert.ok(inOneLine(told.mail.text).includes(inOneLine(where)), String(told.mail.text))
    })
})

suite('A school with a hostile name', () => {
  const env = {
    ...riverside,
    CHIRON_SCHOOL_NAME: '<script>alert("1")</script> & $& Sons',
    CHIRON_PRIVACY_URL: 'https://x.example/"><script>alert(2)</script>',
  }
  const escaped = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; $&amp; Sons'

  test('is text everywhere', async (t) => {
    const service = await startService('sqlite', { env })
    t.after(() => service.stop())
    for (const path of ['/', '/nowhere', '/v/none']) {
      const { text } = await service.request(path, { headers: { accept: 'text/html' } })
      assert.doesNotMatch(text, /<script>/, path)
      assert.ok(text.includes(escaped), path)
    }
    const email = freshAddress()
    await service.signIn(email)
    const { mail } = await service.mail.mailTo(email)
    assert.doesNotMatch(mail.html ?? '', /<script>/)
    assert.ok(mail.html?.includes(escaped))
    assert.ok(mail.text?.includes(env.CHIRON_SCHOOL_NAME))
  })
})

suite('The portal with the school’s face', inBrowser, () => {
  let service: Service
  let browser: Browser
  portalOfSuite(
    (parts) => {
      ;({ service, browser } = parts)
    },
    { env: riverside },
  )

  test('shows name, logo and links on every screen', async () => {
    const page = await openTab(await newVisitor(browser), service)
    const home = page.getByRole('link', { name: 'Riverside Veterinary School, start page' })
    await home.waitFor()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await soon(() => page.title(), 'Sign in · Riverside Veterinary School')
    const drawn = 'document.querySelector(".brand .logo").naturalWidth > 0'
    await soon(() => page.evaluate<boolean>(drawn), true)
    const href = (name: string) => page.getByRole('link', { name, exact: true }).getAttribute('href')
    assert.equal(await href('Help'), 'mailto:help@riverside.example')
    assert.equal(await href('Privacy'), 'https://riverside.example/privacy')
    await page.getByText('Chiron is the access service of Riverside Veterinary School.').waitFor()
    await assertFit(page, 'portal-school', 320)
    assert.deepEqual(page.faults, [])
  })

  for (const locale of everyLanguage)
    test(`has its links in ${locale} too`, async () => {
      const { footer } = await portalText(locale)
      const page = await openTab(await newVisitor(browser, { locale }), service)
      await page.getByRole('link', { name: footer.help, exact: true }).waitFor()
      await page.getByRole('link', { name: footer.privacy, exact: true }).waitFor()
      await page.getByText(footer.about('Riverside Veterinary School')).waitFor()
    })
})
