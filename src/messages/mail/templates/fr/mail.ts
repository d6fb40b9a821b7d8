import type { MailTexts } from '../texts.ts'

const subject = (reference: string) => `À propos de votre connexion (référence ${reference})`
const unasked =
  'Si ce n’est pas vous qui avez tenté de vous connecter, vous n’avez rien à faire\u00a0: personne ne s’est connecté à votre place.'

export const text: MailTexts = {
  code: {
    subject: (reference) => `Votre code de connexion (référence ${reference})`,
    greeting: (name) => (name === null ? 'Bonjour,' : `Bonjour ${name},`),
    intro: 'Voici votre code pour vous connecter à Chiron\u00a0:',
    reference: (reference) => `L’écran qui le demande affiche la référence ${reference}.`,
    lifetime: (minutes, until) =>
      `Ce code sert une seule fois, pendant ${minutes} minutes\u00a0: jusqu’à ${until}.`,
    never: 'Personne de l’école ne vous le demandera jamais. Ne le transmettez à personne.',
    unasked:
      'Si vous n’avez pas demandé de code, ignorez ce message\u00a0: sans le code, personne ne peut se connecter à votre place.',
  },
  addressCode: {
    subject: (reference) => `Confirmez votre nouvelle adresse (référence ${reference})`,
    intro:
      'Une personne connectée à Chiron souhaite utiliser cette adresse pour son compte de vétérinaire. Si c’est vous, saisissez ce code\u00a0:',
    unasked: 'Si ce n’est pas vous, ignorez ce message\u00a0: sans le code, rien ne change.',
  },
  stepUpCode: {
    subject: (reference) => `Confirmez que c’est bien vous (référence ${reference})`,
    intro:
      'Une personne connectée à votre compte veut faire une opération qui demande une confirmation. Si c’est vous, saisissez ce code\u00a0:',
    unasked:
      'Si ce n’est pas vous, ne transmettez pas le code, connectez-vous pour déconnecter tous les autres appareils et écrivez à l’école.',
  },
  notices: {
    'no-account': {
      subject,
      paragraphs: (url) => [
        'Quelqu’un a demandé un code de connexion pour cette adresse, mais aucun compte de vétérinaire n’y correspond.',
        `Si c’est vous, inscrivez-vous d’abord, puis demandez un code\u00a0: ${url}`,
        'Vous êtes peut-être inscrit avec une autre adresse, ou depuis plus de sept jours sans vous être connecté\u202f; dans ce cas, inscrivez-vous de nouveau.',
        unasked,
      ],
    },
    'is-student': {
      subject,
      paragraphs: (url) => [
        'Quelqu’un a demandé un code de vétérinaire pour cette adresse, mais la liste de l’école l’attribue à un étudiant.',
        `Si c’est vous, choisissez «\u00a0Étudiant\u00a0» sur la page de connexion et redemandez un code\u00a0: ${url}`,
        unasked,
      ],
    },
    'is-veterinarian': {
      subject,
      paragraphs: (url) => [
        'Quelqu’un a demandé un code d’étudiant pour cette adresse, mais elle appartient à un compte de vétérinaire.',
        `Si c’est vous, choisissez «\u00a0Vétérinaire\u00a0» sur la page de connexion et redemandez un code\u00a0: ${url}`,
        unasked,
      ],
    },
    'not-on-roster': {
      subject,
      paragraphs: () => [
        'Quelqu’un a demandé un code d’étudiant pour cette adresse, mais elle ne figure pas sur la liste de l’école.',
        'Si c’est vous, utilisez l’adresse que l’école a enregistrée pour vous, ou demandez à la scolarité de la corriger.',
        unasked,
      ],
    },
    'not-enabled': {
      subject,
      paragraphs: (_url, help) => [
        'Quelqu’un a demandé un code d’étudiant pour cette adresse. Elle figure sur la liste de l’école, mais l’accès n’est pas activé\u202f; aucun code n’a été créé.',
        `Si c’est vous, demandez à la scolarité de l’activer, ou écrivez à l’école${help}.`,
        unasked,
      ],
    },
    'not-staff': {
      subject,
      paragraphs: () => [
        'Quelqu’un a demandé un code de connexion à la console du personnel pour cette adresse, mais elle n’appartient à aucun membre du personnel.',
        'Si c’est vous, utilisez l’adresse enregistrée pour vous, ou demandez au responsable du service dans l’école d’ajouter celle-ci.',
        unasked,
      ],
    },
    'address-left': {
      subject: () => 'Votre compte a maintenant une autre adresse',
      paragraphs: (_url, help) => [
        'L’école a changé l’adresse de votre compte de vétérinaire, qui n’est plus celle-ci, et vous a déconnecté partout.',
        `Si vous ne l’avez pas demandé, écrivez immédiatement à l’école${help}.`,
      ],
    },
    'address-taken': {
      subject: () => 'Votre compte a maintenant cette adresse',
      paragraphs: (url, help) => [
        'L’école a associé un compte de vétérinaire à cette adresse. Les codes de connexion y seront désormais envoyés.',
        `Vous pouvez vous connecter ici\u00a0: ${url}`,
        `Si vous ne connaissez pas ce compte, écrivez à l’école${help}.`,
      ],
    },
    'address-in-use': {
      subject: (reference) => `À propos de votre nouvelle adresse (référence ${reference})`,
      paragraphs: (url) => [
        'Une personne connectée à Chiron voulait utiliser cette adresse pour son compte, mais un autre compte de vétérinaire l’utilise déjà\u202f; aucun code n’a été créé.',
        `Si c’est vous, connectez-vous plutôt avec cette adresse\u00a0: ${url}`,
        'Si ce n’est pas vous, vous n’avez rien à faire\u00a0: rien n’a changé.',
      ],
    },
    'address-moved': {
      subject: () => 'Votre compte a maintenant une autre adresse',
      paragraphs: () => [
        'L’adresse de votre compte de vétérinaire, qui était celle-ci, a été changée par une personne qui y était connectée. Tous les autres appareils ont été déconnectés.',
        'Si ce n’est pas vous, écrivez immédiatement à l’école.',
      ],
    },
    'passkey-added': {
      subject: () => 'Une clé d’accès a été ajoutée à votre compte',
      paragraphs: (url, help) => [
        'Une personne connectée à votre compte y a ajouté une clé d’accès. Elle permet de se connecter sans code.',
        `Vous pouvez voir vos clés d’accès et les supprimer ici\u00a0: ${url}`,
        `Si ce n’est pas vous, supprimez cette clé, déconnectez tous les autres appareils et écrivez immédiatement à l’école${help}.`,
      ],
    },
    'passkey-removed': {
      subject: () => 'Une clé d’accès a été supprimée de votre compte',
      paragraphs: (url, help) => [
        'Une clé d’accès a été supprimée de votre compte. Elle ne permet plus de se connecter. Vous pouvez toujours vous connecter avec un code envoyé à cette adresse.',
        `Vous pouvez voir vos clés d’accès ici\u00a0: ${url}`,
        `Si cela ne vient ni de vous ni de l’école, écrivez immédiatement à l’école${help}.`,
      ],
    },
    suspended: {
      subject,
      paragraphs: (_url, help) => [
        'Quelqu’un a demandé un code de connexion pour cette adresse, mais son compte est suspendu\u202f; aucun code n’a été créé.',
        `Si vous pensez qu’il s’agit d’une erreur, écrivez à l’école${help}.`,
        unasked,
      ],
    },
  },
  webhookOff: ({ id, host, because, url }) => ({
    subject: `Le webhook vers ${host} a été désactivé`,
    paragraphs: [
      because === 'gone'
        ? `Le programme de ${host} a répondu 410 Gone\u00a0: il ne veut plus recevoir d’événements. Son webhook a été désactivé (${id}).`
        : `Depuis trois jours, le programme de ${host} n’a accepté aucun événement. Son webhook a été désactivé (${id}), et les événements en attente ont été supprimés.`,
      'Quand le programme fonctionnera de nouveau, réactivez le webhook dans la console, sous Webhooks. Il recevra alors les nouveaux événements\u202f; «\u00a0Renvoyer\u00a0» envoie ceux qu’il a manqués.',
      `La console\u00a0: ${url}`,
    ],
  }),
  footer: (name) =>
    `Envoyé par Chiron, le service d’accès de l’école vétérinaire${name === null ? '' : ` (${name})`}. Les réponses à ce message ne sont pas lues.`,
  help: (where) => `Aide\u00a0: ${where}`,
  privacy: (where) => `Confidentialité\u00a0: ${where}`,
}
