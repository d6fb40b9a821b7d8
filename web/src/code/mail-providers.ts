/** Where people read the mail of large providers. */
interface Provider {
  readonly name: string
  readonly url: string
}

const gmail: Provider = { name: 'Gmail', url: 'https://mail.google.com/mail/' }
const outlook: Provider = { name: 'Outlook', url: 'https://outlook.live.com/mail/' }

const providers: readonly (readonly [domain: RegExp, Provider])[] = [
  [/^(gmail|googlemail)\.com$/, gmail],
  [/^((outlook|hotmail|live)\.[a-z.]+|msn\.com|passport\.com)$/, outlook],
]

export function providerOf(email: string): Provider | null {
  const domain = email.slice(email.lastIndexOf('@') + 1).toLowerCase()
  return providers.find(([pattern]) => pattern.test(domain))?.[1] ?? null
}
