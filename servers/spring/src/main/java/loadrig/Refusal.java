package loadrig;

/** A request is refused with `status`; the message is the one line that the client reads. */
final class Refusal extends Exception {
    final int status;

    Refusal(int status, String message) {
        super(message, null, false, false);
        this.status = status;
    }
}
