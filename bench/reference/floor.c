/* Floor client: what the machine allows, against which the others are held.
 *
 *   floor PORT N PATH
 *
 * Makes N non-blocking sockets, then connects each and sends its request at once, then reads. One thread, one epoll
 * set, and nothing done that need not be. Prints one JSON object. Times are those of loadgen: a request begins before
 * its connect and is done when its response is complete; wall runs from the first begun to the last done; p50 is the
 * sorted value at index floor(N / 2).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1e6
#define LIMIT_S 60
#define EVENTS 512
#define RESPONSE_MAX 1024

struct request {
    int fd;
    int sent;
    int64_t begun_ns;
    size_t got;
    char response[RESPONSE_MAX + 1];
};

static struct request *requests;
static int64_t *times_ns; /* of those that are ok, in order of completion */
static int total, ok, failed;
static int64_t last_done_ns;
static int epoll_fd;
static char text[512];
static size_t text_size;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void end(struct request *r, int is_ok) {
    int64_t now = now_ns();
    if (is_ok)
        times_ns[ok++] = now - r->begun_ns;
    else
        failed++;
    last_done_ns = now;
    close(r->fd);
}

static void watch(int operation, int index, uint32_t what) {
    struct epoll_event event = {.events = what, .data.u32 = (uint32_t)index};
    if (epoll_ctl(epoll_fd, operation, requests[index].fd, &event) < 0)
        die("epoll_ctl");
}

/* A request this small is taken whole by an empty send buffer, or not at all. */
static int send_request(struct request *r) {
    r->sent = send(r->fd, text, text_size, MSG_NOSIGNAL) == (ssize_t)text_size;
    return r->sent;
}

static void begin(int index, const struct sockaddr_in *to) {
    struct request *r = &requests[index];
    r->begun_ns = now_ns();
    if (connect(r->fd, (const struct sockaddr *)to, sizeof *to) == 0 && send_request(r))
        watch(EPOLL_CTL_ADD, index, EPOLLIN);
    else if (errno == EINPROGRESS) /* on loopback only where the SYN was dropped */
        watch(EPOLL_CTL_ADD, index, EPOLLOUT);
    else
        end(r, 0);
}

/* Whether the response is complete: a head, and as much body as it says. */
static int is_complete(struct request *r) {
    r->response[r->got] = '\0';
    const char *head_end = strstr(r->response, "\r\n\r\n");
    const char *length = strcasestr(r->response, "\ncontent-length:");
    if (head_end == NULL || length == NULL || length > head_end)
        return 0;
    return r->response + r->got >= head_end + 4 + atol(length + 16);
}

static void ready(int index) {
    struct request *r = &requests[index];
    if (!r->sent) {
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error != 0 || !send_request(r))
            end(r, 0);
        else
            watch(EPOLL_CTL_MOD, index, EPOLLIN);
        return;
    }
    ssize_t got = recv(r->fd, r->response + r->got, RESPONSE_MAX - r->got, 0);
    if (got > 0) {
        r->got += (size_t)got;
        if (is_complete(r))
            end(r, strncmp(r->response, "HTTP/1.1 200 ", 13) == 0);
        else if (r->got == RESPONSE_MAX)
            end(r, 0);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        end(r, 0);
    }
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void make_sockets(void) {
    struct rlimit limit;
    int one = 1;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < total; i++) {
        requests[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (requests[i].fd < 0)
            die("socket");
        setsockopt(requests[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
}

int main(int count, char **arguments) {
    if (count != 4 || (total = atoi(arguments[2])) < 1) {
        fprintf(stderr, "usage: %s PORT N PATH\n", arguments[0]);
        return 2;
    }
    int port = atoi(arguments[1]);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    /* Connection: close as loadgen says it in a burst, so that the server has the same to do. */
    text_size = (size_t)snprintf(text, sizeof text,
                                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", arguments[3], port);
    if (text_size >= sizeof text) {
        fprintf(stderr, "%s: PATH is too long\n", arguments[0]);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    requests = calloc((size_t)total, sizeof *requests);
    times_ns = calloc((size_t)total, sizeof *times_ns);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (requests == NULL || times_ns == NULL || epoll_fd < 0)
        die("setting up");
    make_sockets();

    for (int i = 0; i < total; i++)
        begin(i, &to);
    int64_t release_ns = requests[0].begun_ns, released_ns = requests[total - 1].begun_ns;
    struct epoll_event events[EVENTS];
    while (ok + failed < total && now_ns() < release_ns + LIMIT_S * NS_PER_S) {
        int n = epoll_wait(epoll_fd, events, EVENTS, 1000);
        for (int i = 0; i < n; i++)
            ready((int)events[i].data.u32);
    }
    if (ok == 0) {
        fprintf(stderr, "%s: no request was answered\n", arguments[0]);
        return 1;
    }
    qsort(times_ns, (size_t)ok, sizeof *times_ns, by_value);
    printf("{\"requests\": %d, \"ok\": %d, \"failed\": %d, \"wall_ms\": %.3f, \"min_ms\": %.3f, \"p50_ms\": %.3f,"
           " \"max_ms\": %.3f, \"release_ms\": %.3f}\n",
           total, ok, total - ok, (double)(last_done_ns - release_ns) / NS_PER_MS, (double)times_ns[0] / NS_PER_MS,
           (double)times_ns[ok / 2] / NS_PER_MS, (double)times_ns[ok - 1] / NS_PER_MS,
           (double)(released_ns - release_ns) / NS_PER_MS);
    return ok == total ? 0 : 1;
}
