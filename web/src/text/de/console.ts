import type { ConsoleText } from '../en/console.ts'
import { counted } from './console-counted.ts'
import { eventsText } from './console-events.ts'
import { peopleText } from './console-people.ts'
import { programsText } from './console-programs.ts'
import { rosterText } from './console-roster.ts'

export const text: ConsoleText = {
  name: 'Konsole',

  nav: {
    home: (name) => `${name}, Konsole, Übersicht`,
    '': 'Übersicht',
    people: 'Personen',
    mail: 'E-Mails',
    roster: 'Liste',
    events: 'Ereignisse',
    refusals: 'Abgelehnte Hochschulkonten',
    providers: 'Hochschulkonten',
    webhooks: 'Webhooks',
    applications: 'Anwendungen',
    staff: 'Personal',
  },

  toOverview: 'Zurück zur Übersicht',

  signIn: {
    title: 'An der Konsole anmelden',
    lead: 'Für das Personal der Hochschule. Wir schicken Ihnen einen Code per E-Mail.',
    portal: 'Tierärztinnen, Tierärzte und Studierende melden sich hier an',
    otherRole: 'Die Konsole ist für das Personal',
    otherRoleLead: (name) =>
      `In diesem Browser ist ${name} am Portal angemeldet. Um die Konsole zu verwenden, melden Sie sich dort ab und hier mit einem Personalkonto an.`,
    change: 'Abmelden und mit Personalkonto anmelden',
    toPortal: 'Zurück zum Portal',
  },

  rights: { support: 'Helpdesk', registrar: 'Studierendensekretariat', admin: 'Administration' },

  rightsMean: {
    support: 'Personen, ihre Geräte und ihre E-Mails',
    registrar: 'die Liste der Studierenden',
    admin: 'alles, auch Personal, Ereignisse und Webhooks',
  },

  nothingAllowed: 'Ihre Rechte umfassen diese Seite nicht. Wenden Sie sich an die Administration.',
  more: 'Mehr anzeigen',
  none: 'Nichts vorhanden.',
  updated: (time) => `Stand: ${time}`,
  you: 'Sie',
  unnamed: 'ohne Namen',

  overview: {
    title: 'Übersicht',
    verdicts: {
      well: 'Alles in Ordnung',
      wrong: 'Etwas stimmt nicht',
      'not-set-up': 'Alles in Ordnung, aber noch nicht alles eingerichtet',
    },
    wrong: (headline) => `Problem: ${headline}`,
    states: { well: 'In Ordnung', wrong: 'Problem', 'not-set-up': 'Nicht eingerichtet' },
    signIns: 'Anmeldungen',
    lastHour: 'Letzte Stunde',
    lastDay: 'Letzte 24 Stunden',
    picture: (most) =>
      `Anmeldungen je Stunde in den letzten 24 Stunden; ${most} in der Stunde mit den meisten`,
    hour: (from, count) => `${from}: ${count}`,
    noSignIns: 'In den letzten 24 Stunden hat sich niemand angemeldet.',
    mail: 'E-Mails',
    unsent: 'Noch nicht gesendet',
    oldest: 'Die älteste wartet seit',
    failed: 'Fehlgeschlagen in 24 Stunden',
    mailGood: 'E-Mails werden gesendet.',
    mailWrong: { stuck: 'es gehen keine E-Mails hinaus', failing: 'viele E-Mails kommen nicht an' },
    mailReasons: {
      caught:
        'Es ist kein Mailserver eingestellt: E-Mails bleiben im Entwicklungspostfach. Setzen Sie CHIRON_SMTP_URL, damit sie gesendet werden.',
      stuck:
        'Seit mehreren Minuten geht keine E-Mail hinaus, und niemand erhält einen Code. Wenden Sie sich sofort an die Stelle, die den Mailserver betreibt.',
      failing: 'Viele E-Mails konnten nicht zugestellt werden. Die Liste zeigt, welche und warum.',
      slow: 'E-Mails verzögern sich. Wenn das anhält, wenden Sie sich an die Stelle, die den Mailserver betreibt.',
      'some-failed': 'Einige E-Mails konnten nicht zugestellt werden. Die Liste zeigt, welche und warum.',
    },
    toMail: 'Fehlgeschlagene E-Mails ansehen',
    attack: 'Angriffe',
    attackWrong: 'jemand versucht, Codes zu erraten',
    calm: 'Niemand versucht, Codes zu erraten.',
    attacked:
      'Jemand versucht, Codes zu erraten. Bis das aufhört, haben neue Codes acht Ziffern, und einige Personen müssen einen neuen Code anfordern. Niemand wird ausgesperrt, und Sie müssen nichts tun. Wenn es stundenlang dauert, wenden Sie sich an die Stelle, die den Dienst betreibt.',
    wrongCodes: 'Falsche Codes in der letzten Stunde',
    wrongCodesDay: 'Falsche Codes am letzten Tag',
    ofThreshold: (count, threshold) => `${count} (als Angriff gilt: ${threshold})`,
    toEvents: 'Ereignisse ansehen',
    roster: 'Liste',
    since: 'Gültig seit',
    checked: 'Zuletzt mit einer Datei verglichen',
    generation: 'Nummer',
    newestFile: 'Neueste Datei an der Quelle',
    nextFetch: 'Nächster Abruf',
    rosterWrong: {
      'never-imported': 'Studierende können sich nicht anmelden',
      'no-students': 'Studierende können sich nicht anmelden',
      overdue: 'es kommt keine neuere Liste',
      'fetch-stopped': 'die letzte Liste wurde nicht importiert',
      'fetch-late': 'die Liste wurde nicht abgerufen',
    },
    rosterReasons: {
      'never-imported':
        'Es wurde noch keine Liste importiert. Deshalb können sich Studierende nicht anmelden.',
      'no-students':
        'Auf der Liste stehen keine Studierenden. Deshalb können sich Studierende nicht anmelden.',
      overdue:
        'Seit Tagen ist keine neuere Datei gekommen. Prüfen Sie, ob das System der Hochschule sie noch exportiert.',
      'fetch-stopped':
        'Der letzte Abruf wurde angehalten, abgelehnt oder ist fehlgeschlagen. Im Bericht per E-Mail steht, was zu tun ist.',
      'fetch-late': 'Der nächste Abruf hätte schon stattfinden müssen.',
    },
    rosterFine: 'Studierende und Kurse stammen aus dieser Liste.',
    toRoster: 'Zur Liste',
    webhooks: 'Webhooks',
    webhooksNone: 'Es gibt keine Webhooks.',
    webhooksFine: 'Alle Webhooks funktionieren.',
    webhooksFail: (n, shown) =>
      counted(n, shown, 'Webhook erhält seine Ereignisse nicht.', 'Webhooks erhalten ihre Ereignisse nicht.'),
    toWebhooks: 'Zu den Webhooks',
    people: 'Personen',
    counted: (time) => `Gezählt: ${time}`,
    nobody: 'Noch keine Personen.',
    checkAgain: (n, shown) =>
      `Bei ${counted(n, shown, 'verifizierten Person', 'verifizierten Personen')} hat sich seitdem der Name oder die Adresse geändert. Bitte erneut verifizieren.`,
    toPeople: 'Person suchen',
    service: 'Dieser Dienst',
    version: 'Version',
    store: 'Datenbank',
    schema: 'Schema',
  },

  roles: { veterinarian: 'Tierärztin/Tierarzt', student: 'Student/in', staff: 'Personal' },
  rolesMany: { veterinarian: 'Tierärztinnen und Tierärzte', student: 'Studierende' },

  statuses: {
    pending: 'noch nie angemeldet',
    active: 'aktiv',
    inactive: 'auf der Liste nicht aktiv',
    suspended: 'gesperrt',
    closed: 'gelöscht',
  },

  statusesMany: {
    pending: 'noch nie Angemeldete',
    active: 'Aktive',
    inactive: 'auf der Liste nicht Aktive',
    suspended: 'Gesperrte',
    closed: 'Gelöschte',
  },

  ...peopleText,
  ...eventsText,
  ...programsText,
  ...rosterText,
}
