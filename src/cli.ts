/** Parses the command line. Errors are one line on stderr; docs/commands.md lists the exit codes. */
import cluster from 'node:cluster'
import { Command } from 'commander'
import { AppError, storeOutOfReach, UsageError } from './errors.ts'
import { printAside, printFailure } from './operate/commands/output.ts'
import { errorFields } from './platform/lib/error-fields.ts'
import { packageVersion } from './version.ts'

// Loaded on demand, so that the service starts without the roster code.
const roster = () => import('./operate/commands/roster.ts')

/** One id in 64 begins with a hyphen and would be parsed as an option. No argument can contain this character. */
const mark = '\0'

/** How long a failed command may take to close its open handles. */
const openHandlesPatienceMs = 500

// An import must not stop because its output cannot be written.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
  // The reader has closed the pipe, as `| head` does.
  if (code === 'EPIPE') return
  printAside(`the output could not be written (${code})`)
  process.exitCode = 1
})

const program = new Command('chiron')
  .description('The access service of a veterinary school')
  .version(packageVersion())
  .showSuggestionAfterError(false)
  .configureOutput({
    outputError: (text) => printAside(`${text.replace(/^error: /, '').trim()}; see --help`),
  })

program
  .command('serve')
  .description('run the service')
  .option('--json', 'log as JSON, even on a terminal')
  .action(async (options) => (await import('./operate/commands/serve.ts')).serve(options))
program
  .command('migrate')
  .description('migrate the store to the current schema')
  .option('--plan', 'show what would run, without changing anything')
  .action(async (options) => (await import('./operate/commands/migrate.ts')).migrateCommand(options))

const rosterCommand = program.command('roster').description('the school’s roster, as OneRoster CSV')
const withReport = (command: Command) =>
  command
    .option('--json', 'print JSON lines')
    .option('--verbose', 'show every changed field and every finding')
    .option('--report <file>', 'write a report for the registrar to this file')
    .option('--bulk', 'treat the set as the whole roster: anyone missing leaves')
    .option('--delta', 'treat the set as changes only')
    .option('--match <key>', 'match accounts by number or address when sourcedIds have changed')
    .option('--skip-bad-rows <number>', 'skip up to this many bad rows')
withReport(
  rosterCommand.command('check <file>').description('show what importing a zip or folder would change'),
).action(async (file, options) => (await roster()).rosterCheck(file, options))
withReport(rosterCommand.command('import <file>').description('show the plan, ask, and import'))
  .option('--yes', 'do not ask')
  .option('--allow <holds>', 'comma-separated holds to override')
  .action(async (file, options) => (await roster()).rosterImport(file, options))
withReport(
  rosterCommand.command('fetch').description('fetch the newest set from CHIRON_ROSTER_SOURCE and import it'),
)
  .option('--allow <holds>', 'comma-separated holds to override')
  .option('--again', 'even if it is the same set as last time')
  .option('--report-always', 'mail a report even on success')
  .action(async (options) => (await import('./operate/commands/roster-fetch.ts')).rosterFetch(options))
rosterCommand
  .command('undo')
  .description('undo the last import')
  .option(
    '--to <number>',
    'go to what it was after this number, also one that was just undone; 0 is an empty roster',
  )
  .option('--allow <holds>', 'comma-separated holds to override')
  .option('--verbose', 'list everyone who leaves, returns or changes')
  .option('--json', 'print JSON lines')
  .option('--yes', 'do not ask')
  .action(async (options) => (await roster()).rosterUndo(options))
rosterCommand
  .command('history')
  .description('list imports, newest first')
  .option('--json', 'print JSON lines')
  .action(async (options) => (await roster()).rosterHistory(options))

rosterCommand
  .command('correct [student]')
  .description('correct a student until the file does; <student> is an id, number or address')
  .option('--email <address>', 'the correct address')
  .option('--firstname <name>', 'the correct first name')
  .option('--lastname <name>', 'the correct last name')
  .option('--remove', 'remove the correction')
  .option('--list', 'show all corrections')
  .option('--json', 'print JSON lines')
  .action(async (student, options) => (await roster()).rosterCorrect(student, options))

const lists = () => import('./operate/commands/roster-lists.ts')
const each = (text: string, others: readonly string[] = []) => [...others, text]
rosterCommand
  .command('from-list <file...>')
  .description('make a set from a class list (CSV, Excel), or from a Canvas or School Data Sync export')
  .requiredOption('--out <zip>', 'where to write the set')
  .option('--map <field=header>', 'what a column means, such as number=Matricola; may be repeated', each)
  .option('--map-file <file>', 'keep the mapping here; read if it is there, else written')
  .option('--term <days>', 'such as 2026-09-01..2027-01-31, or "Autumn=…"; may be repeated', each)
  .option('--dates <order>', 'how 03/09/2026 is meant: day-first or month-first')
  .option('--verbose', 'every finding')
  .option('--json', 'print JSON lines')
  .action(async (files, options) => (await lists()).rosterFromList(files, options))
rosterCommand
  .command('template [folder]')
  .description('write an example class list and an example set')
  .option('--json', 'print JSON lines')
  .action(async (folder, options) => (await lists()).rosterTemplate(folder ?? 'roster-template', options))

const people = () => import('./operate/commands/people.ts')
const peopleCommand = program
  .command('people')
  .description('veterinarians and students; <who> is an id, an address or a student number')
peopleCommand
  .command('find <text>')
  .description('search by words of a name, an address or a number')
  .option('--role <role>', 'veterinarian or student')
  .option('--status <status>', 'for example active or suspended')
  .option('--limit <number>', 'maximum number of results (50)')
  .option('--after <id>', 'continue after this id')
  .action(async (text, options) => (await people()).findPeople(text, options))
const about = (name: string, description: string) =>
  peopleCommand.command(`${name} <who>`).description(description)
about('show', 'profile, sessions, deliveries and events').action(async (who, options) =>
  (await people()).showPerson(who, options),
)
about('suspend', 'block sign-in and end all sessions')
  .option('--reason <text>', 'why')
  .action(async (who, options) => (await people()).suspendPerson(who, options))
about('reactivate', 'allow sign-in again')
  .option('--reason <text>', 'why')
  .action(async (who, options) => (await people()).reactivatePerson(who, options))
about('sign-out', 'end all sessions').action(async (who, options) =>
  (await people()).signOutPerson(who, options),
)
about('verify', 'record that the school has checked who a veterinarian is')
  .option('--note <text>', 'how it was checked')
  .action(async (who, options) => (await people()).verifyPerson(who, options))
about('unverify', 'withdraw the verification')
  .option('--note <text>', 'why')
  .action(async (who, options) => (await people()).unverifyPerson(who, options))
peopleCommand
  .command('change-address <who> <address>')
  .description('change a veterinarian’s address; both addresses are notified')
  .option('--reason <text>', 'why')
  .action(async (who, address, options) => (await people()).changeAddressOf(who, address, options))
about('close', 'close a veterinarian’s account and erase its personal data')
  .option('--reason <text>', 'why')
  .option('--yes', 'confirm; this cannot be undone')
  .action(async (who, options) => (await people()).closePerson(who, options))
about('export', 'everything held about somebody, as JSON').action(async (who, options) =>
  (await people()).exportPerson(who, options),
)

about('passkeys', 'the passkeys of somebody').action(async (who, options) =>
  (await people()).listPasskeys(who, options),
)
peopleCommand
  .command('remove-passkey <who> <passkey>')
  .description('remove a passkey by its id; its owner is notified')
  .action(async (who, passkey, options) => (await people()).removePasskey(who, passkey, options))

const staff = () => import('./operate/commands/staff.ts')
const staffCommand = program.command('staff').description('members of staff, who use the console')
staffCommand
  .command('add <address>')
  .description('add a member of staff')
  .option('--name <name>', 'first and last name')
  .option('--may <rights>', 'comma-separated: support, registrar, admin')
  .action(async (address, options) => (await staff()).addStaff(address, options))
staffCommand
  .command('list')
  .description('all members of staff')
  .action(async (options) => (await staff()).listStaff(options))
staffCommand
  .command('change <who>')
  .description('change name or rights; <who> is an id or address')
  .option('--name <name>', 'first and last name')
  .option('--may <rights>', 'comma-separated: support, registrar, admin')
  .action(async (who, options) => (await staff()).changeStaff(who, options))
staffCommand
  .command('remove <who>')
  .description('remove a member of staff; <who> is an id or address')
  .action(async (who, options) => (await staff()).removeStaff(who, options))
staffCommand
  .command('reset-passkeys <who>')
  .description('remove all passkeys of a member of staff who lost them; <who> is an id or address')
  .action(async (who, options) => (await staff()).resetPasskeys(who, options))

const mail = () => import('./operate/commands/mail.ts')
const mailCommand = program.command('mail').description('delivery records of mails')
mailCommand
  .command('show <address>')
  .description('delivery records of all mails to an address in the last 30 days')
  .option('--since <time>', 'for example 2026-11-15 or 36h')
  .option('--limit <number>', 'maximum number of results (50)')
  .option('--after <id>', 'continue with older mails, after this id')
  .action(async (address, options) => (await mail()).showMail(address, options))
mailCommand
  .command('list')
  .description('delivery records of mails to anyone')
  .option('--failed', 'only mails that failed permanently')
  .option('--state <state>', 'for example deferred, not-sent or bounced')
  .option('--since <time>', 'for example 2026-11-15 or 36h')
  .option('--limit <number>', 'maximum number of results (50)')
  .option('--after <id>', 'continue with older mails, after this id')
  .action(async (options) => (await mail()).listMail(options))
mailCommand
  .command('test <address>')
  .description('send a test mail and show the mail server’s reply')
  .action(async (address, options) => (await mail()).testMail(address, options))
mailCommand
  .command('bounced')
  .description('mark a mail as bounced, given its delivery status notification on stdin')
  .option('--setup', 'print how to send bounces to Chiron, and the secret for mail providers')
  .action(async (options) => (await mail()).bouncedMail(options))

program
  .command('events')
  .description('list events, oldest first')
  .option('--follow', 'keep printing new events')
  .option('--type <types>', 'comma-separated event types')
  .option('--person <who>', 'only events of this person: an id, address or number')
  .option('--since <time>', 'for example 2026-11-15 or 36h')
  .option('--after <number>', 'only events with a larger number')
  .option('--limit <number>', 'maximum number of events')
  .action(async (options) => (await import('./operate/commands/events.ts')).events(options))

program
  .command('backup [file]')
  .description('copy the whole store; the service may be running')
  .option('--to <folder>', 'write to this folder, with the time as the file name')
  .option('--keep <number>', 'number of backups to keep in the folder (14)')
  .option('--yes', 'overwrite the file if it exists')
  .action(async (file, options) =>
    (await import('./operate/commands/backup.ts')).backupCommand(file, options),
  )
program
  .command('restore <file>')
  .description('replace the store with a backup; stop the service first')
  .option('--yes', 'replace the existing store')
  .action(async (file, options) =>
    (await import('./operate/commands/restore.ts')).restoreCommand(file, options),
  )
program
  .command('move')
  .description('copy the whole store into an empty one of either engine; stop the service first')
  .requiredOption('--to <url>', 'sqlite:<file>, or the address of a PostgreSQL database')
  .action(async (options) => (await import('./operate/commands/move.ts')).moveCommand(options))
program
  .command('network <which>')
  .description('activity of a network; <which> is a fingerprint from the log or an event, or an IP address')
  .option('--since <time>', 'events since this time (7d)')
  .option('--limit <number>', 'maximum number of events (50)')
  .action(async (which, options) => (await import('./operate/commands/network.ts')).network(which, options))

program
  .command('doctor')
  .description('check the installation and suggest fixes; changes nothing')
  .option('--from-outside <url>', 'also call the service through its proxy at this URL')
  .option('--rehearse <people>', 'simulate this many sign-ins within a minute, on a scratch store')
  .action(async (options) => (await import('./operate/commands/doctor.ts')).doctor(options))
const webhooks = () => import('./operate/commands/webhooks.ts')
const webhooksCommand = program.command('webhooks').description('other programs that receive events')
const eventsOption = ['--events <events>', 'comma-separated event types; "*" for all'] as const
webhooksCommand
  .command('add <url>')
  .description('add a webhook and show its secret')
  .option(...eventsOption)
  .action(async (url, options) => (await webhooks()).addWebhook(url, options))
webhooksCommand
  .command('list')
  .description('list webhooks and their status')
  .action(async (options) => (await webhooks()).listWebhooks(options))
const ofWebhook = (name: string, description: string) =>
  webhooksCommand.command(`${name} <id>`).description(description)
ofWebhook('deliveries', 'recent deliveries, newest first').action(async (id, options) =>
  (await webhooks()).listDeliveries(id, options),
)
ofWebhook('change', 'change its URL or its events')
  .option('--url <url>', 'the new URL')
  .option(...eventsOption)
  .action(async (id, options) => (await webhooks()).changeWebhook(id, options))
ofWebhook('rotate', 'create a new secret; the old one remains valid for a day').action(async (id, options) =>
  (await webhooks()).rotateWebhook(id, options),
)
ofWebhook('disable', 'stop sending events and drop those waiting').action(async (id, options) =>
  (await webhooks()).switchWebhook(id, false, options),
)
ofWebhook('enable', 'send events from now on').action(async (id, options) =>
  (await webhooks()).switchWebhook(id, true, options),
)
ofWebhook('test', 'send a test event and show the answer').action(async (id, options) =>
  (await webhooks()).testWebhook(id, options),
)
ofWebhook('remove', 'remove the webhook').action(async (id, options) =>
  (await webhooks()).removeWebhook(id, options),
)
ofWebhook('replay', 'send all events since a time again')
  .option('--since <time>', 'for example 2026-11-15 or 36h')
  .action(async (id, options) => (await webhooks()).replayWebhook(id, options))

const clients = () => import('./operate/commands/clients.ts')
const clientsCommand = program
  .command('clients')
  .description('other programs of the school, which sign people in here or read data without a person')
const withClientOptions = (command: Command) =>
  command
    .option('--redirect <url...>', 'where people return after signing in; compared exactly')
    .option('--scopes <scopes>', 'such as "openid profile email"; for services roster.read, events.read')
    .option('--roles <roles...>', 'who may sign in there (veterinarian, student, staff)')
    .option('--logout <url...>', 'where people may return after signing out')
    .option('--backchannel <url>', 'is called when somebody’s session ends')
    .option('--consent <when>', 'whether people are asked first: never, or once')
    .option('--without-pkce', 'for a web application that cannot send PKCE, such as Moodle')
    .option('--claims-in-id-token', 'for a program that does not ask userinfo')
    .option('--id-token-alg <algorithm>', 'how its ID tokens are signed: ES256, or RS256 (ES256)')
    .option('--unverified-veterinarians', 'also veterinarians who merely registered, as anybody can')
withClientOptions(
  clientsCommand
    .command('add <name>')
    .description('register an application, and show its id and its secret')
    .option('--kind <kind>', 'web (a server), spa (a page in the browser), native (an app) or service (web)')
    .option('--subject <kind>', 'whether its ids of people are its own: public or pairwise (public)'),
)
  .addHelpText('after', clientExamples())
  .action(async (name, options) => (await clients()).addClient(name, options))
clientsCommand
  .command('list')
  .description('list applications, with who is signed in and when they were used')
  .action(async (options) => (await clients()).listClients(options))
const ofClient = (name: string, description: string) =>
  clientsCommand.command(`${name} <id>`).description(description)
ofClient('show', 'its registration, and back-channel calls that failed').action(async (id, options) =>
  (await clients()).showClient(id, options),
)
withClientOptions(
  ofClient('change', 'change what is given; a list replaces the former one, and "none" empties it'),
)
  .option('--name <name>', 'the new name')
  .option('--with-pkce', 'require PKCE again')
  .option('--no-claims-in-id-token', 'claims by userinfo alone')
  .option('--no-unverified-veterinarians', 'only veterinarians whom the school has verified')
  .action(async (id, options) => (await clients()).changeClient(id, options))
ofClient('rotate', 'create a new secret; the former one works for a while')
  .option('--overlap <time>', 'how long, such as 36h, at most 30d; 0 if it leaked (7d)')
  .action(async (id, options) => (await clients()).rotateClient(id, options))
ofClient('disable', 'refuse its tokens and new sign-ins').action(async (id, options) =>
  (await clients()).switchClient(id, false, options),
)
ofClient('enable', 'accept it again').action(async (id, options) =>
  (await clients()).switchClient(id, true, options),
)
ofClient('sign-out', 'end everybody’s session there').action(async (id, options) =>
  (await clients()).signOutOfClient(id, options),
)
ofClient('remove', 'end everybody’s session there and remove it').action(async (id, options) =>
  (await clients()).removeClient(id, options),
)

const providers = () => import('./operate/commands/providers.ts')
const providersCommand = program
  .command('providers')
  .description('OpenID providers of the school, whose accounts people can sign in with')
const providerOptions = (command: Command) =>
  command
    .option('--client-id <id>', 'the id of the registration at the provider')
    .option('--secret-file <file>', 'a file with its client secret')
    .option('--roles <roles>', 'who can sign in with it: student, staff, or both')
    .option('--domains <domains>', "the provider's own domains, comma-separated; other addresses never count")
    .option('--number-claim <claim>', 'the claim with the student number')
    .option(
      '--address-claim <claim>',
      'the claim with the address, if it is not email; needs --trust-addresses',
    )
    .option('--trust-addresses', 'addresses count without email_verified: people cannot change them there')
providerOptions(providersCommand.command('add <name>').description('add a provider'))
  .option('--kind <kind>', 'entra, google or oidc')
  .option('--issuer <url>', 'the issuer, as in its metadata')
  .option('--tenant <id>', 'the id of the tenant, for Entra ID')
  .option('--hosted-domain <domain>', 'the domain of the school, for Google')
  .action(async (name, options) => (await providers()).addProvider(name, options))
providersCommand
  .command('list')
  .description('list the providers')
  .action(async (options) => (await providers()).listProviders(options))
const ofProvider = (name: string, description: string) =>
  providersCommand.command(`${name} <provider>`).description(description)
ofProvider('test', 'try it without a person: metadata, keys and credentials').action(
  async (provider, options) => (await providers()).testProvider(provider, options),
)
providerOptions(ofProvider('change', 'change its name, secret, roles, domains or claims'))
  .option('--no-trust-addresses', 'addresses count only with email_verified')
  .option('--name <name>', 'the new name')
  .action(async (provider, options) => (await providers()).changeProvider(provider, options))
ofProvider('disable', 'let nobody sign in with it; sessions and links stay').action(
  async (provider, options) => (await providers()).switchProvider(provider, false, options),
)
ofProvider('enable', 'let people sign in with it').action(async (provider, options) =>
  (await providers()).switchProvider(provider, true, options),
)
ofProvider('remove', 'remove it and all its links').action(async (provider, options) =>
  (await providers()).removeProvider(provider, options),
)

const keys = () => import('./operate/commands/keys.ts')
const keysCommand = program.command('keys').description('the keys that sign tokens')
keysCommand
  .command('list')
  .description('list the keys and their roles')
  .action(async (options) => (await keys()).listKeys(options))
keysCommand
  .command('rotate')
  .description('publish a new key, which signs ten minutes later; nobody is signed out')
  .action(async (options) => (await keys()).rotateKeys(options))
keysCommand
  .command('revoke [key]')
  .description('stop trusting a leaked key; tokens that it signed are refused at once')
  .option('--all', 'all keys, because the secret was lost or leaked')
  .action(async (kid, options) => (await keys()).revokeKeys(kid, options))

addCommonOptions(program)
program.hook('preAction', async (_program, command) =>
  (await import('./operate/commands/command.ts')).beforeCommand(command.opts()),
)

/** Every command takes these. */
function addCommonOptions(command: Command): void {
  for (const each of command.commands) addCommonOptions(each)
  if (command.commands.length > 0) return
  if (!command.options.some(({ long }) => long === '--json')) command.option('--json', 'print JSON')
  command.option('--env-file <file>', 'read settings from this file instead of .env')
}

program.hook('preAction', (_program, command) => {
  command.processedArgs = command.processedArgs.map(withoutMark)
  for (const [name, value] of Object.entries(command.opts())) command.setOptionValue(name, withoutMark(value))
})

try {
  await program.parseAsync(process.argv.slice(2).map(markId), { from: 'user' })
} catch (error) {
  const reason = explain(error)
  // All workers fail for the same reason; the primary reports it once.
  if (cluster.isWorker) process.send?.({ failed: reason }, () => process.exit(1))
  else fail(reason, exitCodeOf(error))
}

function clientExamples(): string {
  return `
Examples:
  chiron clients add Moodle --redirect https://moodle.example.org/admin/oauth2callback.php --without-pkce
  chiron clients add JupyterHub --redirect https://hub.example.org/hub/oauth_callback
  chiron clients add Timetable --kind spa --redirect https://timetable.example.org/
  chiron clients add "Campus app" --kind native --redirect org.example.campus:/callback http://127.0.0.1/callback
  chiron clients add Library --kind service --scopes roster.read`
}

function markId(argument: string): string {
  return /^-(?:[\w-]{21}|[\w-]{29}|[\w-]{42})$/.test(argument) ? mark + argument : argument
}

function withoutMark(value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(mark) ? value.slice(1) : value
}

function fail(reason: string, exitCode: number): void {
  printFailure(reason, process.argv.includes('--json'))
  // No process.exit() here: it may wait forever for V8's threads (nodejs/node#54918).
  process.exitCode = exitCode
  setTimeout(() => process.exit(), openHandlesPatienceMs).unref()
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return error.exitCode
  return error instanceof AppError && error.code === 'unavailable' ? storeOutOfReach : 1
}

function explain(error: unknown): string {
  if (error instanceof UsageError) return error.message
  if (error instanceof AppError) return `${detailOf(error)} ${causeOf(error)}`.trim()
  const { code, message = String(error), port } = errorFields(error)
  if (code === 'EADDRINUSE') return `port ${port} is in use: stop the other program, or set CHIRON_PORT`
  // Node's own errors begin with their code.
  return code && !message.includes(code) ? `${message} (${code})` : message
}

/** Prefers the details of each bad field to the general message. */
function detailOf({ code, message, extra }: AppError): string {
  if (!extra.errors || message !== new AppError(code).message) return message
  return extra.errors
    .map(({ pointer, parameter, detail }) =>
      `${(pointer ?? parameter!).replace(/^#\/?/, '')} ${detail}`.trim(),
    )
    .join('; ')
}

function causeOf(error: AppError): string {
  const cause = error.extra.cause as
    | { message?: string; code?: string; errors?: { message: string }[] }
    | undefined
  return cause?.message || cause?.errors?.[0]?.message || cause?.code || ''
}
