/** The mail server of the machine: `node mail.ts KEY CERT`. Takes every login and every mail, and prints each as a line of JSON. */
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

const [key, cert] = process.argv.slice(2).map((file) => readFileSync(file))
new SMTPServer({
  key: key!,
  cert: cert!,
  logger: false,
  onAuth: (auth, _session, callback) => callback(null, { user: auth.username }),
  async onData(stream, { envelope }, callback) {
    const raw = await text(stream)
    const from = envelope.mailFrom ? envelope.mailFrom.address : ''
    const to = envelope.rcptTo.map(({ address }) => address)
    process.stdout.write(`${JSON.stringify({ from, to, raw })}\n`)
    callback()
  },
}).listen(587, '127.0.0.1')
