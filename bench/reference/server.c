/* Reference server: the right answer to a burst is known before it is measured.
 *
 *   server PORT      (0: any free port; it is printed)
 *
 * GET /sleep/MS is answered MS milliseconds after the request was read, however many there are at once; any other
 * path at once. One thread, one epoll set, no limit but the descriptors. Each connection has a buffer of its own, so
 * requests may come in pieces or several together; those behind a sleeping one wait for it. Requests with a body are
 * not taken.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL
#define BACKLOG 65535    /* the kernel cuts it to net.core.somaxconn */
#define HEAD_MAX 2048
#define EVENTS 64        /* these two are small: answers that are due are given between two batches */
#define ACCEPTS 64
#define MAX_SLEEP_MS 3600000

#define BODY "Content-Type: text/plain\r\nContent-Length: 3\r\n"
static const char KEEP[] = "HTTP/1.1 200 OK\r\n" BODY "\r\nok\n";
static const char KEEP_10[] = "HTTP/1.1 200 OK\r\n" BODY "Connection: keep-alive\r\n\r\nok\n"; /* HTTP/1.0 must be told */
static const char CLOSE[] = "HTTP/1.1 200 OK\r\n" BODY "Connection: close\r\n\r\nok\n";
static const char BAD[] = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

struct answer {
    const char *text;
    size_t size;
    int closes;
};
static const struct answer ANSWER_KEEP = {KEEP, sizeof KEEP - 1, 0};
static const struct answer ANSWER_KEEP_10 = {KEEP_10, sizeof KEEP_10 - 1, 0};
static const struct answer ANSWER_CLOSE = {CLOSE, sizeof CLOSE - 1, 1};
static const struct answer ANSWER_BAD = {BAD, sizeof BAD - 1, 1};

struct connection {
    int fd;
    int place;                   /* in the heap; -1: no answer is owed */
    int64_t due_ns;
    const struct answer *answer; /* the one owed */
    size_t held;                 /* bytes in `head` */
    char head[HEAD_MAX + 1];     /* one more for the NUL that ends searches */
};

static struct connection *connections; /* by descriptor; calloc: a page is not touched until its connection is used */
static int connections_max;
static int epoll_fd, timer_fd;
static int64_t armed_ns; /* what the timer is set to; 0: nothing */
static volatile sig_atomic_t stopping;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The answers owed, the one due first on top: a binary heap in which each connection knows its place. */

static struct connection **heap;
static int heap_size;

static void put(int place, struct connection *c) {
    heap[place] = c;
    c->place = place;
}

static void sift_up(int place, struct connection *c) {
    while (place > 0 && heap[(place - 1) / 2]->due_ns > c->due_ns) {
        put(place, heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(place, c);
}

static void sift_down(int place, struct connection *c) {
    for (;;) {
        int child = 2 * place + 1;
        if (child >= heap_size)
            break;
        if (child + 1 < heap_size && heap[child + 1]->due_ns < heap[child]->due_ns)
            child++;
        if (heap[child]->due_ns >= c->due_ns)
            break;
        put(place, heap[child]);
        place = child;
    }
    put(place, c);
}

static void owe(struct connection *c, const struct answer *answer, int64_t due_ns) {
    c->answer = answer;
    c->due_ns = due_ns;
    sift_up(heap_size++, c);
}

static void owe_no_more(struct connection *c) {
    int place = c->place;
    struct connection *last = heap[--heap_size];
    c->place = -1;
    if (last == c)
        return;
    if (place > 0 && heap[(place - 1) / 2]->due_ns > last->due_ns)
        sift_up(place, last);
    else
        sift_down(place, last);
}

/* Connections */

static void drop(struct connection *c) {
    if (c->place >= 0)
        owe_no_more(c);
    close(c->fd);
    c->fd = -1;
}

/* Sends the answer; whether the connection still stands. An answer this small does not fit only where the client has
 * long stopped reading. */
static int give(struct connection *c, const struct answer *answer) {
    if (send(c->fd, answer->text, answer->size, MSG_NOSIGNAL) == (ssize_t)answer->size && !answer->closes)
        return 1;
    drop(c);
    return 0;
}

static int says(const char *head, const char *connection_header) {
    return strcasestr(head, connection_header) != NULL;
}

/* The answer to one head, which ends with a NUL, and how long to wait before it is given. */
static const struct answer *answer_to(const char *head, int64_t *sleep_ns) {
    const char *version = strstr(head, " HTTP/1.");
    *sleep_ns = 0;
    if (strncmp(head, "GET /", 5) != 0 || version == NULL || strcasestr(head, "\ncontent-length:") != NULL)
        return &ANSWER_BAD;
    if (strncmp(head, "GET /sleep/", 11) == 0) {
        char *end;
        long ms = strtol(head + 11, &end, 10);
        if (*end != ' ' || ms < 0 || ms > MAX_SLEEP_MS)
            return &ANSWER_BAD;
        *sleep_ns = ms * NS_PER_MS;
    }
    if (version[8] == '0')
        return says(head, "\nconnection: keep-alive") ? &ANSWER_KEEP_10 : &ANSWER_CLOSE;
    return says(head, "\nconnection: close") ? &ANSWER_CLOSE : &ANSWER_KEEP;
}

/* Answers the requests that the buffer holds in full, up to the first that has to wait. */
static void serve(struct connection *c) {
    while (c->held > 0 && c->place < 0) {
        int64_t sleep_ns;
        c->head[c->held] = '\0';
        char *end = strstr(c->head, "\r\n\r\n");
        if (end == NULL) {
            if (c->held == HEAD_MAX)
                give(c, &ANSWER_BAD);
            return;
        }
        size_t used = (size_t)(end + 4 - c->head);
        end[2] = '\0';
        const struct answer *answer = answer_to(c->head, &sleep_ns);
        c->held -= used;
        memmove(c->head, c->head + used, c->held);
        if (sleep_ns > 0)
            owe(c, answer, now_ns() + sleep_ns);
        else if (!give(c, answer))
            return;
    }
}

static void receive(struct connection *c) {
    if (c->held == HEAD_MAX) { /* requests pile up behind one that sleeps: more than a client of ours would send */
        drop(c);
        return;
    }
    ssize_t got = recv(c->fd, c->head + c->held, HEAD_MAX - c->held, 0);
    if (got > 0) {
        c->held += (size_t)got;
        serve(c);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        drop(c);
    }
}

static void accept_some(int listener) {
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                die("accept"); /* or it would be reported for ever */
            return;
        }
        struct connection *c = &connections[fd];
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        c->fd = fd;
        c->place = -1;
        c->held = 0;
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
            drop(c);
        else
            receive(c); /* the request is mostly there; to leave it for later would delay it behind others' accepts */
    }
}

/* Time */

static void give_what_is_due(void) {
    while (heap_size > 0 && heap[0]->due_ns <= now_ns()) {
        struct connection *c = heap[0];
        owe_no_more(c);
        if (give(c, c->answer))
            serve(c);
    }
}

/* A timerfd, because the time-out of epoll_wait is in whole milliseconds and the kernel may stretch it. */
static void arm(void) {
    int64_t due_ns = heap_size > 0 ? heap[0]->due_ns : 0;
    if (due_ns == armed_ns)
        return;
    struct itimerspec when = {.it_value = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S}};
    timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    armed_ns = due_ns;
}

/* Setting up */

static void stop(int number) {
    (void)number;
    stopping = 1;
}

static int raise_descriptor_limit(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > 1048576)
        limit.rlim_max = 1048576;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return (int)limit.rlim_cur;
}

static int listen_on(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* those accepted inherit it */
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) < 0)
        die("listen");
    printf("listening on port %d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

static void watch(int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        die("epoll_ctl");
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s PORT\n", arguments[0]);
        return 2;
    }
    struct sigaction on_stop = {.sa_handler = stop}; /* no SA_RESTART: epoll_wait has to return */
    sigaction(SIGTERM, &on_stop, NULL);
    sigaction(SIGINT, &on_stop, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* not to outlive the bench, however that ends */

    connections_max = raise_descriptor_limit();
    connections = calloc((size_t)connections_max, sizeof *connections);
    heap = calloc((size_t)connections_max, sizeof *heap);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (connections == NULL || heap == NULL || epoll_fd < 0 || timer_fd < 0)
        die("setting up");
    int listener = listen_on(atoi(arguments[1]));
    watch(listener);
    watch(timer_fd);

    struct epoll_event events[EVENTS];
    while (!stopping) {
        arm();
        int ready = epoll_wait(epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            uint64_t expirations;
            if (fd == listener)
                accept_some(listener);
            else if (fd == timer_fd)
                armed_ns = read(timer_fd, &expirations, sizeof expirations) < 0 ? armed_ns : 0;
            else if (connections[fd].fd == fd) /* not dropped by an earlier event of this batch */
                receive(&connections[fd]);
        }
        give_what_is_due();
    }
    return 0;
}
