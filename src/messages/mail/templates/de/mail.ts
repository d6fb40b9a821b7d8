import type { MailTexts } from '../texts.ts'

const subject = (reference: string) => `Zu Ihrer Anmeldung (Referenz ${reference})`
const unasked =
  'Wenn Sie sich nicht anmelden wollten, müssen Sie nichts tun: Niemand hat sich mit Ihrem Konto angemeldet.'

export const text: MailTexts = {
  code: {
    subject: (reference) => `Ihr Anmeldecode (Referenz ${reference})`,
    greeting: (name) => (name === null ? 'Guten Tag,' : `Guten Tag ${name},`),
    // In lower case, because the greeting ends with a comma.
    intro: 'hier ist Ihr Code für die Anmeldung bei Chiron:',
    reference: (reference) => `Die Seite, auf der Sie ihn eingeben, zeigt die Referenz ${reference}.`,
    lifetime: (minutes, until) => `Der Code gilt einmal und ${minutes} Minuten lang: bis ${until}.`,
    never: 'Die Hochschule wird Sie nie danach fragen. Geben Sie ihn nicht weiter.',
    unasked:
      'Wenn Sie keinen Code angefordert haben, ignorieren Sie diese E-Mail: Ohne den Code kann sich niemand mit Ihrem Konto anmelden.',
  },
  addressCode: {
    subject: (reference) => `Bestätigen Sie Ihre neue Adresse (Referenz ${reference})`,
    intro:
      'diese Adresse soll künftig zu einem tierärztlichen Konto bei Chiron gehören. Wenn Sie das veranlasst haben, geben Sie diesen Code ein:',
    unasked:
      'Wenn Sie das nicht veranlasst haben, ignorieren Sie diese E-Mail: Ohne den Code ändert sich nichts.',
  },
  stepUpCode: {
    subject: (reference) => `Bestätigen Sie, dass Sie es sind (Referenz ${reference})`,
    intro:
      'mit Ihrem Konto soll etwas getan werden, das eine Bestätigung erfordert. Wenn Sie das sind, geben Sie diesen Code ein:',
    unasked:
      'Wenn Sie das nicht sind, geben Sie den Code nicht weiter, melden Sie sich an, melden Sie alle anderen Geräte ab und schreiben Sie der Hochschule.',
  },
  notices: {
    'no-account': {
      subject,
      paragraphs: (url) => [
        'Für diese Adresse wurde ein Anmeldecode angefordert, es gibt dazu aber kein tierärztliches Konto.',
        `Wenn Sie das waren, registrieren Sie sich zuerst und fordern Sie dann einen Code an: ${url}`,
        'Vielleicht haben Sie sich mit einer anderen Adresse registriert. Wenn Ihre Registrierung mehr als sieben Tage zurückliegt und Sie sich seitdem nie angemeldet haben, registrieren Sie sich bitte noch einmal.',
        unasked,
      ],
    },
    'is-student': {
      subject,
      paragraphs: (url) => [
        'Für diese Adresse wurde ein Anmeldecode für ein tierärztliches Konto angefordert. Auf der Liste der Hochschule gehört sie aber zu einem Studierendenkonto.',
        `Wenn Sie das waren, wählen Sie auf der Anmeldeseite „Student/in“ und fordern Sie einen neuen Code an: ${url}`,
        unasked,
      ],
    },
    'is-veterinarian': {
      subject,
      paragraphs: (url) => [
        'Für diese Adresse wurde ein Anmeldecode für ein Studierendenkonto angefordert. Sie gehört aber zu einem tierärztlichen Konto.',
        `Wenn Sie das waren, wählen Sie auf der Anmeldeseite „Tierärztin/Tierarzt“ und fordern Sie einen neuen Code an: ${url}`,
        unasked,
      ],
    },
    'not-on-roster': {
      subject,
      paragraphs: () => [
        'Für diese Adresse wurde ein Anmeldecode für ein Studierendenkonto angefordert. Sie steht aber nicht auf der Liste der Hochschule.',
        'Wenn Sie das waren, verwenden Sie die Adresse, die bei der Hochschule hinterlegt ist, oder lassen Sie sie im Studierendensekretariat berichtigen.',
        unasked,
      ],
    },
    'not-enabled': {
      subject,
      paragraphs: (_url, help) => [
        'Für diese Adresse wurde ein Anmeldecode für ein Studierendenkonto angefordert. Sie steht auf der Liste der Hochschule, ist aber nicht für die Anmeldung freigegeben. Deshalb wurde kein Code erzeugt.',
        `Wenn Sie das waren, lassen Sie sie im Studierendensekretariat freigeben oder schreiben Sie der Hochschule${help}.`,
        unasked,
      ],
    },
    'not-staff': {
      subject,
      paragraphs: () => [
        'Für diese Adresse wurde ein Anmeldecode für die Konsole des Personals angefordert. Sie gehört aber zu niemandem aus dem Personal.',
        'Wenn Sie das waren, verwenden Sie die Adresse, die für Sie eingetragen ist. Oder bitten Sie die Stelle, die den Dienst an der Hochschule betreibt, diese Adresse hinzuzufügen.',
        unasked,
      ],
    },
    'address-left': {
      subject: () => 'Ihr Konto hat jetzt eine andere Adresse',
      paragraphs: (_url, help) => [
        'Die Hochschule hat die Adresse Ihres tierärztlichen Kontos geändert und Sie auf allen Geräten abgemeldet. Bisher war es diese Adresse.',
        `Wenn Sie nicht darum gebeten haben, schreiben Sie sofort der Hochschule${help}.`,
      ],
    },
    'address-taken': {
      subject: () => 'Ihr Konto hat jetzt diese Adresse',
      paragraphs: (url, help) => [
        'Die Hochschule hat einem tierärztlichen Konto diese Adresse gegeben. Anmeldecodes werden ab jetzt hierher geschickt.',
        `Hier können Sie sich anmelden: ${url}`,
        `Wenn Sie kein solches Konto haben, schreiben Sie der Hochschule${help}.`,
      ],
    },
    'address-in-use': {
      subject: (reference) => `Zu Ihrer neuen Adresse (Referenz ${reference})`,
      paragraphs: (url) => [
        'Diese Adresse wurde bei Chiron als neue Adresse eines Kontos angegeben. Sie gehört aber schon zu einem anderen tierärztlichen Konto. Deshalb wurde kein Code erzeugt.',
        `Wenn Sie das waren, melden Sie sich stattdessen mit dieser Adresse an: ${url}`,
        'Wenn Sie das nicht waren, müssen Sie nichts tun: Es hat sich nichts geändert.',
      ],
    },
    'address-moved': {
      subject: () => 'Ihr Konto hat jetzt eine andere Adresse',
      paragraphs: () => [
        'Ihr tierärztliches Konto hatte bisher diese Adresse. Auf einem angemeldeten Gerät wurde sie durch eine andere ersetzt. Alle anderen Geräte wurden abgemeldet.',
        'Wenn Sie das nicht waren, schreiben Sie sofort der Hochschule.',
      ],
    },
    'passkey-added': {
      subject: () => 'Ihrem Konto wurde ein Passkey hinzugefügt',
      paragraphs: (url, help) => [
        'Auf einem angemeldeten Gerät wurde Ihrem Konto ein Passkey hinzugefügt. Mit ihm ist die Anmeldung ohne Code möglich.',
        `Hier können Sie Ihre Passkeys ansehen und entfernen: ${url}`,
        `Wenn Sie das nicht waren, entfernen Sie den Passkey, melden Sie alle anderen Geräte ab und schreiben Sie sofort der Hochschule${help}.`,
      ],
    },
    'passkey-removed': {
      subject: () => 'Ein Passkey Ihres Kontos wurde entfernt',
      paragraphs: (url, help) => [
        'Ein Passkey Ihres Kontos wurde entfernt. Mit ihm ist keine Anmeldung mehr möglich. Mit einem Code an diese Adresse können Sie sich immer anmelden.',
        `Hier können Sie Ihre Passkeys ansehen: ${url}`,
        `Wenn das weder Sie noch die Hochschule waren, schreiben Sie sofort der Hochschule${help}.`,
      ],
    },
    suspended: {
      subject,
      paragraphs: (_url, help) => [
        'Für diese Adresse wurde ein Anmeldecode angefordert. Das Konto dazu ist aber gesperrt. Deshalb wurde kein Code erzeugt.',
        `Wenn Sie das für einen Irrtum halten, schreiben Sie der Hochschule${help}.`,
        unasked,
      ],
    },
  },
  webhookOff: ({ id, host, because, url }) => ({
    subject: `Der Webhook zu ${host} wurde ausgeschaltet`,
    paragraphs: [
      because === 'gone'
        ? `Das Programm auf ${host} hat mit 410 Gone geantwortet und will demnach keine Ereignisse mehr. Sein Webhook (${id}) wurde ausgeschaltet.`
        : `Das Programm auf ${host} hat seit drei Tagen kein Ereignis angenommen. Sein Webhook (${id}) wurde ausgeschaltet, und die Ereignisse, die auf ihn warteten, wurden verworfen.`,
      'Wenn das Programm wieder läuft, schalten Sie den Webhook in der Konsole unter „Webhooks“ wieder ein. Er erhält dann neue Ereignisse; „Erneut senden“ sendet die verpassten.',
      `Die Konsole: ${url}`,
    ],
  }),
  footer: (name) =>
    `Gesendet von Chiron, dem Zugangsdienst der tierärztlichen Hochschule${name === null ? '' : ` (${name})`}. Antworten auf diese E-Mail werden nicht gelesen.`,
  help: (where) => `Hilfe: ${where}`,
  privacy: (where) => `Datenschutz: ${where}`,
}
